// The reasons for refusing a submission. Nothing has been written when one of these is thrown.

/** `fix` is a general text. Each error has its own `fix`. */
export const submissionErrorCodes = {
  SUBMISSION_REFUSED: {
    means: "The submission does not exist, or it contains something other than files and folders.",
    fix: "Name a folder, an archive or a file that you may read.",
  },
  SUBMISSION_TOO_LARGE: {
    means: "The submission contains too many files, folders or bytes.",
    fix: "Remove files that are not part of the submission, such as build results and caches.",
  },
  SUBMISSION_TOO_DEEP: {
    means: "The folders are nested too deeply, or a path is too long.",
    fix: "Submit a folder with fewer levels.",
  },
  SUBMISSION_NAME_INVALID: {
    means: "A file name is not UTF-8, empty or too long, or contains a NUL.",
    fix: "Rename the file in the message.",
  },
  SUBMISSION_CHANGED: {
    means: "The submission changed while Markmill read it.",
    fix: "Submit it again when no program writes to it.",
  },
  SUBMISSION_ARCHIVE_BROKEN: {
    means: "The archive is damaged or incomplete, or its type does not match its name.",
    fix: "Create the archive again, as zip, tar or tar.gz.",
  },
  SUBMISSION_ARCHIVE_UNSUPPORTED: {
    means: "The type of the archive is not supported, or the archive is encrypted.",
    fix: "Create a zip, tar or tar.gz archive without a password.",
  },
  SUBMISSION_ARCHIVE_ESCAPES: {
    means: "A path in the archive is absolute or leaves the archive.",
    fix: "Create the archive from inside the folder, with relative paths.",
  },
  SUBMISSION_ARCHIVE_LINK: {
    means: "The archive contains a link, a device or a pipe.",
    fix: "Add the files themselves instead of links to them.",
  },
  SUBMISSION_ARCHIVE_CLASH: {
    means: "Two entries of the archive have the same name, or their names differ only in upper and lower case.",
    fix: "Rename one of the two.",
  },
  SUBMISSION_ARCHIVE_BOMB: {
    means: "The unpacked archive is far larger than the archive.",
    fix: "Submit the files as a folder.",
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
