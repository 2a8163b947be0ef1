// Why a submission is not taken. Nothing has been written when one of these is thrown.

export const submissionErrorCodes = {
  SUBMISSION_REFUSED: "There is no such folder or file, or it holds something that is neither.",
  SUBMISSION_TOO_LARGE: "It holds more files, folders or bytes than allowed.",
  SUBMISSION_TOO_DEEP: "Its folders are nested too deep, or a path is too long.",
  SUBMISSION_NAME_INVALID: "A name is no UTF-8, empty, too long, or holds a NUL.",
  SUBMISSION_CHANGED: "It was changed while it was read.",
  SUBMISSION_ARCHIVE_BROKEN: "The archive is damaged, cut off, or not of the kind its name says.",
  SUBMISSION_ARCHIVE_UNSUPPORTED: "The archive is of a kind that is not read here, or is encrypted.",
  SUBMISSION_ARCHIVE_ESCAPES: "A path in the archive is absolute or leads out of it.",
  SUBMISSION_ARCHIVE_LINK: "The archive holds a link, a device or a pipe.",
  SUBMISSION_ARCHIVE_CLASH: "Two entries of the archive have the same name, or differ only by case.",
  SUBMISSION_ARCHIVE_BOMB: "The archive unpacks to far more than its size.",
} as const;

export type SubmissionErrorCode = keyof typeof submissionErrorCodes;

export class SubmissionError extends Error {
  override readonly name = "SubmissionError";
  readonly code: SubmissionErrorCode;
  /** What the reader can do about it, one sentence. */
  readonly fix: string;

  constructor(code: SubmissionErrorCode, message: string, fix: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fix = fix;
  }
}
