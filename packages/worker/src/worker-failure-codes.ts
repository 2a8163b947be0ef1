/** Failures that the worker itself detects, beside those of models, sandbox and store. */
export const workerFailureCodes = {
  WORKER_CRASHED: {
    means: "Several workers crashed during this activity.",
    fix: "Check the logs and the memory of the workers. The activity may need too much memory.",
  },
  WORKER_BUG: {
    means: "A defect in Markmill.",
    fix: "Please report the defect with this message. `markmill retry RUN` continues the run.",
  },
  WORKER_LOST: {
    means: "The worker that ran the commands crashed before it stored their results.",
    fix: "If the activity may be repeated, do nothing: Markmill repeats it from its checkpoint.",
  },
  MODEL_NOT_CHOSEN: {
    means: "The workflow names no model, and there is no default model.",
    fix: "Set DEFAULT_MODEL, pass --model, or name a model in the workflow. Then run `markmill resume RUN`.",
  },
  CONSENT_MISSING: {
    means: "The student did not agree that this model may see the submission.",
    fix: "Grade the submission by hand. If the student agreed to local models, use a model that is marked local in models.yaml.",
  },
  SANDBOX_NOT_CONFIGURED: {
    means: "The worker has no sandbox, so it cannot run commands.",
    fix: "Install Docker or the tools of the jail, or set SANDBOX and SANDBOX_HOSTS. Restart the workers, then run `markmill resume RUN`.",
  },
  FILE_MISSING: {
    means: "A file is neither in the workflow folder nor in the submission.",
    fix: "Check the path and the files of the submission.",
  },
  FILE_TOO_LONG: {
    means: "A file is too long for a value.",
    fix: "Read a shorter file, or raise sandbox.file and SANDBOX_FILE_KB.",
  },
  FILE_REFUSED: {
    means: "A file of the session cannot be read: it is a link, not a regular file, or outside the workspace.",
    fix: "Name a regular file of the workspace.",
  },
  FILE_NOT_TEXT: {
    means: "A file contains NUL bytes. A value must be text.",
    fix: "Convert the file to text with a command first.",
  },
  FILE_NOT_WRITTEN: {
    means: "A file of the session could not be written.",
    fix: "Read the message. Possible reasons: a folder with this name, a full disk, or a path outside the workspace.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;
