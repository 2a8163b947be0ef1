import type { commandCodes } from "./command-codes.ts";

/** What a subcommand is. Its module is loaded only when it is called: `markmill --help` and `validate` stay fast. */
export interface Command {
  /** Text of `markmill NAME --help`, with examples. */
  readonly help: string;
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/**
 * Where a command speaks and what it knows of the place it runs in. Data goes to `out`, talk to `err`. Whatever a model, a student or
 * a command wrote is made visible here, once for all commands (engine's visible-text.ts): a caller hands over the text as it is.
 */
export interface Terminal {
  out(text: string): void;
  /** A run's RESULT: byte for byte into a file or a pipe, made visible on a screen. */
  data(text: string): void;
  /** A line above what is drawn. */
  err(text: string): void;
  /** To `err` as it is, without a line's end: for a line that is drawn again and again. */
  draw(text: string): void;
  /** Asks the person one question; absent: there is no terminal to ask at. */
  readonly ask?: (question: string) => Promise<string>;
  readonly cwd: string;
  /** What goes `out` is read on a screen, not by a program. */
  readonly shown: boolean;
  /** Talk is read by a person on a screen that can redraw a line. */
  readonly live: boolean;
  /** Of that screen, now. */
  readonly columns: number;
}

/** someNotGraded: a class is through, and somebody has no grade, or is not in the file. outOfDate: done, but files on disk could not be written again. budget: a limit was reached. waiting: the run is not over and goes on with 'markmill resume'. interrupted: by Ctrl-C. */
export const exitCodes = {
  ...{ success: 0, failed: 1, usage: 2, someNotGraded: 3, outOfDate: 4, budget: 5, invalid: 6 },
  ...{ sandbox: 7, waiting: 8, interrupted: 130 },
} as const;

/** The words of a call were wrong: printed with a hint at the help, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A failure with its code and what to do about it, told as such (tell-error.ts). */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code: keyof typeof commandCodes;
  readonly fix: string;

  constructor(code: keyof typeof commandCodes, message: string, fix: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.fix = fix;
  }
}
