import type { Terminal } from "../command.ts";
import { describeError } from "../tell-error.ts";

/** What the processes of a stack tell, for people who run them. */
export interface StackLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silent: StackLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** For commands with a person in front of them: trouble only, each sentence once. */
export function terminalLog(terminal: Pick<Terminal, "err">): StackLog {
  const told = new Set<string>();
  const tell = (fields: object, message: string) => {
    const { err } = fields as { readonly err?: unknown };
    const text = err === undefined ? message : `${message}: ${describeError(err).message}`;
    if (told.has(text)) return;
    told.add(text);
    terminal.err(`markmill: ${text}`);
  };
  return { info: () => undefined, warn: tell, error: tell };
}
