/**
 * Which commit of a repository is the work, and what its dates say. Pure.
 *
 * C1  The committer's date of the fetched commit is the time of the submission. Whoever commits sets this date: it is the student's word, as the
 *     time of a push is not known here.
 * C2  A date that cannot be true (after the fetch, or before git existed) is no time: the lateness is unknown, and a person decides.
 * C3  A date that contradicts another date of the history still counts, and a finding says so.
 */

export interface CommitFacts {
  /** 40 digits, 64 in a repository of SHA-256. */
  readonly hash: string;
  /** ISO 8601, UTC; null: the commit's date cannot be true. */
  readonly at: string | null;
  /** Why the date may be wrong. */
  readonly doubts: readonly string[];
}

/** Of `git log --format=%H %ct %at`: seconds since 1970. */
export interface LoggedCommit {
  readonly hash: string;
  readonly committed: number;
  readonly authored: number;
}

export const LOG_FORMAT = "--format=%H %ct %at";

export function readLog(text: string): readonly LoggedCommit[] {
  return text.split("\n").flatMap((line) => {
    const [, hash = "", committed, authored] = /^([0-9a-f]{40}|[0-9a-f]{64}) (-?\d+) (-?\d+)$/.exec(line.trim()) ?? [];
    return hash === "" ? [] : [{ hash, committed: Number(committed), authored: Number(authored) }];
  });
}

/** Clocks of two machines may differ by this much. */
const SKEW = 5 * 60;
const DAY = 86_400;
/** April 2005. */
const BIRTH_OF_GIT = 1_112_911_993;

/** parent: the first one, if it is known. now: milliseconds, when it was fetched. */
export function commitFacts(commit: LoggedCommit, parent: LoggedCommit | null, now: number): CommitFacts {
  const { hash, committed, authored } = commit;
  const doubts: string[] = [];
  const impossible = committed > now / 1000 + SKEW || committed < BIRTH_OF_GIT;
  if (impossible) {
    doubts.push(committed < BIRTH_OF_GIT ? "it is dated before git existed" : "it is dated after it was fetched");
  }
  if (authored > committed + DAY) doubts.push("its author's date is more than a day after its committer's date");
  if (parent !== null && parent.committed > committed + SKEW) doubts.push("it is dated before the commit it builds on");
  return { hash, at: impossible ? null : new Date(committed * 1000).toISOString(), doubts };
}

export function tellCommit({ hash, at }: Pick<CommitFacts, "hash" | "at">): string {
  return `commit ${hash} of ${at ?? "an unknown time"}`;
}
