export const stackErrorCodes = {
  NOT_OVER_HTTP: {
    means: "The API has no request for what the command needs.",
    fix: "Run the command where the stack runs, without MARKMILL_URL.",
  },
  PROJECT_NOT_FOUND: {
    means: "There is no Markmill project in the working directory or above it.",
    fix: "Go to the folder of your project, or begin one: markmill run FILE, or markmill grade PATH.",
  },
  TELEMETRY_LOST: {
    means: "Traces or metrics are lost: the collector does not take them, or too many are sent.",
    fix: "Check that the collector at OTEL_EXPORTER_OTLP_ENDPOINT runs and takes what is sent. Runs are not harmed.",
  },
  RUN_NOT_ROOT: { means: "Another run called it.", fix: "Name the run that called it." },
  RUN_OF_CLASS: { means: "It grades a work of a class.", fix: "Retry the class, or regrade the work." },
  RUN_OPEN: { means: "It has not ended.", fix: "Cancel the run first, or wait for its end." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type StackErrorCode = keyof typeof stackErrorCodes;

/** The request does not fit the current state of a run. */
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
