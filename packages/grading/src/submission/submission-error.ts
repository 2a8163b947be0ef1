// The reasons for refusing a submission. Nothing has been written when one of these is thrown.

/** `fix` is a general text. Each error has its own `fix`. */
export const submissionErrorCodes = {
  SUBMISSION_REFUSED: {
    means: "There is no such folder or file, or it holds something that is neither.",
    fix: "Name a folder, an archive or a file that you may read.",
  },
  SUBMISSION_TOO_LARGE: {
    means: "It holds more files, folders or bytes than allowed.",
    fix: "Leave out what is not part of the work, such as build results and caches.",
  },
  SUBMISSION_TOO_DEEP: {
    means: "Its folders are nested too deep, or a path is too long.",
    fix: "Hand in a folder that is nested less deep.",
  },
  SUBMISSION_NAME_INVALID: {
    means: "A name is no UTF-8, empty, too long, or holds a NUL.",
    fix: "Rename the file that the message names.",
  },
  SUBMISSION_CHANGED: {
    means: "It was changed while it was read.",
    fix: "Hand it in again when nothing writes to it.",
  },
  SUBMISSION_ARCHIVE_BROKEN: {
    means: "The archive is damaged, cut off, or not of the kind its name says.",
    fix: "Pack the archive again, as zip, tar or tar.gz.",
  },
  SUBMISSION_ARCHIVE_UNSUPPORTED: {
    means: "The archive is of a kind that is not read here, or is encrypted.",
    fix: "Pack it as zip, tar or tar.gz, without a password.",
  },
  SUBMISSION_ARCHIVE_ESCAPES: {
    means: "A path in the archive is absolute or leads out of it.",
    fix: "Pack the archive from inside the folder, with relative paths.",
  },
  SUBMISSION_ARCHIVE_LINK: {
    means: "The archive holds a link, a device or a pipe.",
    fix: "Pack the files themselves instead of links to them.",
  },
  SUBMISSION_ARCHIVE_CLASH: {
    means: "Two entries of the archive have the same name, or differ only by case.",
    fix: "Rename one of the two.",
  },
  SUBMISSION_ARCHIVE_BOMB: {
    means: "The archive unpacks to far more than its size.",
    fix: "Hand in the files as a folder.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type SubmissionErrorCode = keyof typeof submissionErrorCodes;

export class SubmissionError extends Error {
  override readonly name = "SubmissionError";
  readonly code: SubmissionErrorCode;
  /** What the reader can do about it, in one sentence. */
  readonly fix: string;

  constructor(code: SubmissionErrorCode, message: string, fix: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fix = fix;
  }
}
