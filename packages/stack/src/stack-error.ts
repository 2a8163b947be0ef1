export const stackErrorCodes = {
  NOT_OVER_HTTP: {
    means: "The API does not support a function that the command needs.",
    fix: "Run the command on the machine with the stack, without MARKMILL_URL.",
  },
  PROJECT_NOT_FOUND: {
    means: "Neither the working directory nor a parent folder is a Markmill project.",
    fix: "Go to the folder of your project, or create a project: markmill run FILE, or markmill grade PATH.",
  },
  TELEMETRY_LOST: {
    means: "Traces or metrics are lost: the collector refuses them, or there are too many.",
    fix: "Check that the collector at OTEL_EXPORTER_OTLP_ENDPOINT runs and accepts data. Runs are not affected.",
  },
  RUN_NOT_ROOT: { means: "Another run called this run.", fix: "Name the run that called it." },
  RUN_OF_CLASS: {
    means: "The run grades a submission of a class.",
    fix: "Retry the class, or regrade the submission.",
  },
  RUN_OPEN: { means: "The run has not ended.", fix: "Cancel the run first, or wait for its end." },
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
