/**
 * Reads which commit of a repository is the submission, and what its dates show. Pure.
 *
 * C1  The committer date of the fetched commit is the time of the submission. The author of a commit sets this date, so it is the student's
 *     claim: the time of the push is unknown here.
 * C2  An impossible date (after the fetch, or before git existed) gives no time: the lateness is unknown, and a person decides.
 * C3  A date that contradicts another date of the history still counts, and a finding reports it.
 */

export interface CommitFacts {
  /** The hash has 40 digits, or 64 in a SHA-256 repository. */
  readonly hash: string;
  /** ISO 8601, UTC. null: the commit's date is impossible. */
  readonly at: string | null;
  /** Reasons why the date may be wrong. */
  readonly doubts: readonly string[];
}

/** One line of `git log --format=%H %ct %at`, in seconds since 1970. */
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

/** The clocks of two machines may differ by this amount. */
const SKEW = 5 * 60;
const DAY = 86_400;
/** The release of git in April 2005. */
const BIRTH_OF_GIT = 1_112_911_993;

/** `parent`: the first parent, if known. `now`: the time of the fetch in milliseconds. */
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
