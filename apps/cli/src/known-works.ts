/**
 * Works of a class that stand although this reading does not name them: somebody whose work they are has one now that could not be fetched, so
 * nobody knows that they are gone. It may stand under another key: a group's work is several people's as soon as a stranger names its repository.
 */
import type { BatchWork, NewWork } from "@markmill/store";

type Known = Pick<NewWork, "key" | "by" | "counts">;

export function standingKeys(
  known: readonly Known[],
  taken: readonly Pick<NewWork, "by">[],
  unfetched: readonly Pick<NewWork, "by">[],
): readonly string[] {
  const waiting = new Set(unfetched.flatMap(({ by }) => by));
  // Who has handed in something else has no other work beside it.
  const served = new Set(taken.flatMap(({ by }) => by));
  return known
    .filter(({ counts, by }) => counts && by.some((key) => waiting.has(key)) && !by.some((key) => served.has(key)))
    .map(({ key }) => key);
}

/** Nothing of a reading would be begun: each work is known with the same content, and its last try has ended. */
export function isSettled(
  known: readonly Pick<BatchWork, "key" | "content" | "standing">[],
  read: readonly Pick<NewWork, "key" | "counts" | "content">[],
): boolean {
  const ended = new Map(
    known.flatMap(({ key, content, standing }) =>
      content.is === "taken" && (standing.is === "succeeded" || standing.is === "failed") ? [[key, content.hash]] : [],
    ),
  );
  return read.every(({ key, counts, content }) => !counts || content.is !== "taken" || ended.get(key) === content.hash);
}
