/** The log of the processes of a stack, for operators. */
export interface StackLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silent: StackLog = { info: () => undefined, warn: () => undefined, error: () => undefined };
