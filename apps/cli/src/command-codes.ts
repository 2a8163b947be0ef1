/** Errors that the command line itself detects. */
export const commandCodes = {
  RUN_NOT_FOUND: { means: "There is no such run.", fix: "`markmill status` lists the latest runs." },
  RUN_ENDED: {
    means: "The run has ended well; there is nothing to resume.",
    fix: "`markmill retry RUN --from NODE` does a part of it again.",
  },
  ASK_NOT_FOUND: { means: "The run asks nobody anything now.", fix: "`markmill status RUN` shows how it stands." },
  ASK_CLOSED: {
    means: "The question was answered already, or its time is over.",
    fix: "`markmill status RUN` shows how it stands.",
  },
  BATCH_NOT_FOUND: { means: "There is no such class.", fix: "`markmill status --batches` lists the latest ones." },
  CLASS_CANCELLED: {
    means: "The class was cancelled, so nothing more of it is begun.",
    fix: "`markmill resume BATCH` begins again where it was.",
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
    means: "The batch is a table of runs (.cfg.json), which has results and no grades.",
    fix: "`markmill watch BATCH` writes its results again; `markmill retry BATCH` tries again what failed.",
  },
  CLASS_PAUSED: {
    means: "The class is paused, by a person or since its budget is spent, so nothing more of it is begun.",
    fix: "`markmill resume BATCH` goes on with it.",
  },
  CLASS_SANDBOX: {
    means: "The class's workflow runs commands, and this machine has no sandbox for them.",
    fix: "`markmill doctor` checks this machine and says what to do.",
  },
  EXPORT_NOT_RELEASED: {
    means: "No grade of the class is released, and only released grades are exported.",
    fix: "`markmill release BATCH` releases the grades; `markmill export --draft` exports them as drafts.",
  },
  MODEL_UNPRICED: {
    means: "There is a budget, and the price of the model is not known.",
    fix: "Describe the model with its price in models.yaml (MODELS_FILE), or leave the budget out.",
  },
  STUDENT_NOT_FOUND: {
    means: "Nobody in the class is called that, or several are.",
    fix: "Name a student by the key, the id or the whole name; `markmill status BATCH` lists them.",
  },
  STUDENT_UNDECIDED: {
    means:
      "A student has several submissions, and it is not decided which one counts. So a mark would belong to none of them.",
    fix: "Decide with `markmill grade PATH --counts STUDENT=SUBMISSION`, or name the submission by its key.",
  },
  REVIEW_NO_PROPOSAL: {
    means: "Of this work nothing is proposed, so there is nothing to accept.",
    fix: "`markmill override` enters points by hand; `markmill retry BATCH` tries to grade it again.",
  },
  CLASS_RUBRIC_CHANGED: {
    means: "The rubric of a graded class has changed, and the change would void grades.",
    fix: "Read what it voids. `markmill grade PATH --yes` uses the changed rubric; or change it back.",
  },
  OVERRIDE_OTHER_MARK: {
    means: "The mark that was to be replaced is not the one that stands.",
    fix: "Look at the work again: `markmill review --student WHO` shows the marks with their ids.",
  },
  OVERRIDE_UNSEEN: {
    means: "A mark that another person gave would be replaced.",
    fix: "Look at that mark; `markmill override … --replace ID` replaces it.",
  },
  REVIEW_NOT_YOURS: {
    means: "There is no acceptance of yours that could be taken back.",
    fix: "`markmill review --student WHO --undo --entry ID` takes back the acceptance of another person.",
  },
  REVIEW_OTHER_TRY: {
    means: "The work was graded again since the proposal was shown.",
    fix: "Look at the new proposal: `markmill review --student WHO`.",
  },
  UP_FAILED: {
    means: "The stack did not start in the background.",
    fix: "`markmill up` without --detach shows it happen.",
  },
  DOWN_TIMEOUT: { means: "The stack does not end.", fix: "End its process by hand; no data is lost." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** Notes about a run that are returned with its request, in addition to the findings of its start. */
export const noteCodes = {
  SUBMISSION_NOTE: {
    means: "Something of the submission was left out or changed when it was read, such as a link that leads out of it.",
    fix: "Read the message; hand in the file itself if it matters.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;
