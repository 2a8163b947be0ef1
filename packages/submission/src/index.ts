export { readSubmission, type SubmissionOptions } from "./read-submission.ts";
export { defaultLimits, type Submission, type SubmissionLimits } from "./submission.ts";
export { SubmissionError, type SubmissionErrorCode, submissionErrorCodes } from "./submission-error.ts";
