/** Errors that the command line itself finds. */
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
  UP_FAILED: {
    means: "The stack did not start in the background.",
    fix: "`markmill up` without --detach shows it happen.",
  },
  DOWN_TIMEOUT: { means: "The stack does not end.", fix: "End its process by hand; no data is lost." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** Notes about a run that come with its request, beside the findings of its start. */
export const noteCodes = {
  SUBMISSION_NOTE: {
    means: "Something of the submission was left out or changed when it was read, such as a link that leads out of it.",
    fix: "Read the message; hand in the file itself if it matters.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;
