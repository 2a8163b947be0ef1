/** RUN_NOT_ROOT: another run called it. RUN_OPEN: it has not ended. RUN_WITHOUT_START: its first event is missing. */
export type StackErrorCode = "RUN_NOT_ROOT" | "RUN_OPEN" | "RUN_WITHOUT_START";

/** What was asked for does not fit how a run stands. */
export class StackError extends Error {
  override readonly name = "StackError";
  readonly code: StackErrorCode;
  readonly fix: string;

  constructor(code: StackErrorCode, message: string, fix: string) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}
