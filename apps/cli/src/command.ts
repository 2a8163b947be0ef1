/** What a subcommand is. Its module is loaded only when it is called: `markmill --help` and `validate` stay fast. */
export interface Command {
  /** Text of `markmill NAME --help`, with examples. */
  readonly help: string;
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** Where a command speaks and what it knows of the place it runs in. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly cwd: string;
  /** Live progress and colour make sense. */
  readonly live: boolean;
  readonly columns: number;
}

export const exitCodes = { success: 0, failed: 1, usage: 2, budget: 5, invalid: 6, interrupted: 130 } as const;

/** The words of a call were wrong: printed with a hint at the help, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
