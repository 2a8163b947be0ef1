export { openClassArchive, packSubmission, type ReadWork } from "./class-archive.ts";
export { archiveKind, readArchive, readEntries, readSubmission } from "./read-submission.ts";
export { showName } from "./show-name.ts";
export { defaultLimits, type Entry, type Submission, type SubmissionLimits } from "./submission.ts";
export { SubmissionError, type SubmissionErrorCode, submissionErrorCodes } from "./submission-error.ts";
