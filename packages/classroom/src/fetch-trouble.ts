import type { ClassFindingCode } from "./class-codes.ts";

type TroubleCode = Extract<
  ClassFindingCode,
  "INTAKE_LFS" | "INTAKE_NOT_FETCHED" | "INTAKE_REPOSITORY_NOT_ALLOWED" | "INTAKE_SAME_REPOSITORY"
>;

/**
 * A repository could not be asked, or must not be before a person has looked: our cause, or its host's. Nothing is known of the work, so nothing
 * is said of it; asking again may do.
 */
export class FetchTrouble extends Error {
  override readonly name = "FetchTrouble";
  /** What the reader can do about it, one sentence. */
  readonly fix: string;
  readonly code: TroubleCode;

  constructor(message: string, fix: string, code: TroubleCode = "INTAKE_NOT_FETCHED") {
    super(message);
    this.fix = fix;
    this.code = code;
  }
}

/**
 * Whether git says what is in the repository, and not that it could not be had: it is empty, or it holds objects that git refuses to store. Whatever
 * else git says may be an outage, a full disk, or a kind of repository that this git does not know. Hosts answer "not found" for what
 * they do not show, too.
 */
export function saysContent(words: string): boolean {
  if (/early EOF|hung up|RPC failed|disconnect|curl \d|timed? ?out|No space left|Disk quota/i.test(words)) return false;
  return /couldn't find remote ref HEAD|fsck error/i.test(words);
}
