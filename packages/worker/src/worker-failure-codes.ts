/** Failures that the worker itself detects, beside those of models, sandbox and store. */
export const workerFailureCodes = {
  WORKER_CRASHED: {
    means: "Several workers were lost while they did this activity.",
    fix: "Look at the workers' logs and memory: what the activity does may be too much for them.",
  },
  WORKER_BUG: {
    means: "A defect in Markmill: please report it with this message.",
    fix: "Report it; `markmill retry RUN` takes the run up again.",
  },
  WORKER_LOST: {
    means: "The worker that ran the commands was lost before it could say what they did.",
    fix: "Nothing, where the activity may be repeated: it is, from its checkpoint.",
  },
  MODEL_NOT_CHOSEN: {
    means: "The workflow names no model and there is no default.",
    fix: "Set DEFAULT_MODEL, pass --model, or name a model in the workflow; then `markmill resume RUN`.",
  },
  CONSENT_MISSING: {
    means: "The student did not agree that this model, or any, sees the work.",
    fix: "Grade it by hand, or use a model that models.yaml calls local where the student agreed to those.",
  },
  SANDBOX_NOT_CONFIGURED: {
    means: "No sandbox is configured for the worker, so it runs no commands.",
    fix: "Install Docker or the tools of the jail, or set SANDBOX and SANDBOX_HOSTS. Start the workers again, then `markmill resume RUN`.",
  },
  FILE_MISSING: {
    means: "A file came neither with the workflow nor with the submission.",
    fix: "Check the path, and what came with the submission.",
  },
  FILE_TOO_LONG: {
    means: "A file is longer than a value may be.",
    fix: "Read a shorter file, or raise sandbox.file and SANDBOX_FILE_KB.",
  },
  FILE_REFUSED: {
    means: "A file of the session is not read: it is a link, no file, or leads outside.",
    fix: "Name a regular file of the workspace.",
  },
  FILE_NOT_TEXT: {
    means: "A file holds NUL bytes: it is no text, and a value is text.",
    fix: "Let a command turn it into text first.",
  },
  FILE_NOT_WRITTEN: {
    means: "A file of the session could not be written.",
    fix: "Read the message: a folder of that name, a full disk, or a path that leads outside.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;
