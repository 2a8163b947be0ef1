import type { ClassFindingCode } from "./class-codes.ts";

type TroubleCode = Extract<
  ClassFindingCode,
  "INTAKE_LFS" | "INTAKE_NOT_FETCHED" | "INTAKE_REPOSITORY_NOT_ALLOWED" | "INTAKE_SAME_REPOSITORY"
>;

/**
 * A repository could not be fetched, or must not be fetched before a person has checked it. The cause is our machine or the repository's
 * host, so it gives no information about the submission. A retry may succeed.
 */
export class FetchTrouble extends Error {
  override readonly name = "FetchTrouble";
  /** What the reader can do about it, in one sentence. */
  readonly fix: string;
  readonly code: TroubleCode;

  constructor(message: string, fix: string, code: TroubleCode = "INTAKE_NOT_FETCHED") {
    super(message);
    this.fix = fix;
    this.code = code;
  }
}

/**
 * Whether git's message describes the content of the repository, and not a failure to get it: the repository is empty, or it holds objects
 * that git refuses to store. Any other message can mean an outage, a full disk, or a kind of repository that this git does not support.
 * Hosts also answer "not found" for repositories that they do not show.
 */
export function saysContent(words: string): boolean {
  if (/early EOF|hung up|RPC failed|disconnect|curl \d|timed? ?out|No space left|Disk quota/i.test(words)) return false;
  return /couldn't find remote ref HEAD|fsck error/i.test(words);
}
