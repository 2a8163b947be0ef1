/** Errors that the command line itself detects. */
export const commandCodes = {
  RUN_NOT_FOUND: { means: "The run does not exist.", fix: "`markmill status` lists the latest runs." },
  RUN_ENDED: {
    means: "The run succeeded, so it cannot be resumed.",
    fix: "`markmill retry RUN --from NODE` repeats a part of it.",
  },
  ASK_NOT_FOUND: { means: "The run has no open question.", fix: "`markmill status RUN` shows its state." },
  ASK_CLOSED: {
    means: "The question was already answered, or it expired.",
    fix: "`markmill status RUN` shows its state.",
  },
  BATCH_NOT_FOUND: { means: "The class does not exist.", fix: "`markmill status --batches` lists the latest classes." },
  CLASS_CANCELLED: {
    means: "The class was cancelled, so no new submission starts.",
    fix: "`markmill resume BATCH` continues the class.",
  },
  CLASS_CHOICE: {
    means: "`--counts` does not name one student of the class.",
    fix: "Write `--counts STUDENT=SUBMISSION`: the student's key or id, and the name of the folder or file.",
  },
  CLASS_CHANGED: {
    means: "Another command changed the class while this one ran. Nothing was changed.",
    fix: "Run the same command again.",
  },
  CLASS_IS_TABLE: {
    means: "The batch is a table of runs (.cfg.json). It has results, but no grades.",
    fix: "`markmill watch BATCH` writes its results again. `markmill retry BATCH` retries its failed runs.",
  },
  CLASS_PAUSED: {
    means: "The class is paused, by a person or because its budget is spent. No new submission starts.",
    fix: "`markmill resume BATCH` continues the class.",
  },
  CLASS_SANDBOX: {
    means: "The class's workflow runs commands, but this machine has no sandbox for them.",
    fix: "`markmill doctor` checks this machine and shows what to do.",
  },
  EXPORT_NOT_RELEASED: {
    means: "No grade of the class is released. Only released grades are exported.",
    fix: "`markmill release BATCH` releases the grades. `markmill export --draft` exports them as drafts.",
  },
  MODEL_UNPRICED: {
    means: "The class or run has a budget, but the price of the model is unknown.",
    fix: "Add the model and its price to models.yaml (MODELS_FILE), or remove the budget.",
  },
  STUDENT_NOT_FOUND: {
    means: "The name matches no student of the class, or several.",
    fix: "Name a student by the key, the id or the whole name. `markmill status BATCH` lists the students.",
  },
  STUDENT_UNDECIDED: {
    means:
      "A student has several submissions, and no one has decided which one counts. A mark would belong to none of them.",
    fix: "Decide with `markmill grade PATH --counts STUDENT=SUBMISSION`, or name the submission by its key.",
  },
  REVIEW_NO_PROPOSAL: {
    means: "The submission has no proposed grade, so nothing can be accepted.",
    fix: "`markmill override` sets points by hand. `markmill retry BATCH` grades the submission again.",
  },
  CLASS_RUBRIC_CHANGED: {
    means: "The rubric of a graded class has changed, and the change would void grades.",
    fix: "Read which grades it voids. `markmill grade PATH --yes` uses the changed rubric. Otherwise, change the rubric back.",
  },
  OVERRIDE_OTHER_MARK: {
    means: "The mark in `--replace` is not the mark that counts now.",
    fix: "Read the submission again: `markmill review --student WHO` shows the marks with their ids.",
  },
  OVERRIDE_UNSEEN: {
    means: "The command would replace a mark that another person gave.",
    fix: "Read that mark. `markmill override … --replace ID` replaces it.",
  },
  REVIEW_NOT_YOURS: {
    means: "You have no acceptance that you could take back.",
    fix: "`markmill review --student WHO --undo --entry ID` takes back the acceptance of another person.",
  },
  REVIEW_OTHER_TRY: {
    means: "The submission was graded again after the proposal was shown.",
    fix: "Read the new proposal: `markmill review --student WHO`.",
  },
  UP_FAILED: {
    means: "The stack did not start in the background.",
    fix: "Run `markmill up` without --detach to see the error.",
  },
  DOWN_TIMEOUT: { means: "The stack did not stop.", fix: "End its process by hand. No data is lost." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** Notes about a run that are returned with its request, in addition to the findings of its start. */
export const noteCodes = {
  SUBMISSION_NOTE: {
    means: "A part of the submission was skipped or changed when it was read, such as a link that leads out of it.",
    fix: "Read the message. If the part matters, submit the file itself.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;
