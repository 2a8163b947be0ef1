import type { commandCodes } from "./command-codes.ts";

/** Defines a subcommand. Its module is loaded only when it is called, so that `markmill --help` and `validate` stay fast. */
export interface Command {
  /** Text of `markmill NAME --help`, with examples. */
  readonly help: string;
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/**
 * The input and output of a command, and its surroundings. Data goes to `out`, messages go to `err`. Text from a model, a student or a
 * command can contain control characters. They are made visible here, once for all commands (engine's visible-text.ts). So callers pass the
 * text unchanged.
 */
export interface Terminal {
  out(text: string): void;
  /** Writes a run's RESULT: unchanged into a file or a pipe, with visible control characters on a screen. */
  data(text: string): void;
  /** Writes a line above the redrawn line. */
  err(text: string): void;
  /** Writes to `err` without a line end, for a line that is redrawn. */
  draw(text: string): void;
  /** Asks the person one question. Absent: there is no terminal. */
  readonly ask?: (question: string) => Promise<string>;
  readonly cwd: string;
  /** `out` is a screen and not a program. */
  readonly shown: boolean;
  /** `err` is a screen that can redraw a line, and a person reads it. */
  readonly live: boolean;
  /** Current width of the screen. */
  readonly columns: number;
}

/**
 * someNotGraded: a class is finished, but a student has no grade or is missing in the file. outOfDate: the change was made, but files on
 * disk could not be updated. budget: a limit was reached. waiting: the run is not finished; 'markmill resume' continues it. interrupted: by
 * Ctrl-C.
 */
export const exitCodes = {
  success: 0,
  failed: 1,
  usage: 2,
  someNotGraded: 3,
  outOfDate: 4,
  budget: 5,
  invalid: 6,
  sandbox: 7,
  waiting: 8,
  interrupted: 130,
} as const;

/** The arguments are wrong. The message is printed with a hint at the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A failure with its code and its fix (tell-error.ts). */
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
