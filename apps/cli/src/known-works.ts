/**
 * Finds stored submissions of a class that stay valid although the current intake does not contain them: one of the students now has a
 * submission that could not be fetched, so it is unknown whether the stored one still exists. It can be stored under another key: a group's
 * submission gets several owners when a stranger names its repository.
 */
import type { BatchWork, NewWork } from "@markmill/store";

type Known = Pick<NewWork, "key" | "by" | "counts">;

export function standingKeys(
  known: readonly Known[],
  taken: readonly Pick<NewWork, "by">[],
  unfetched: readonly Pick<NewWork, "by">[],
): readonly string[] {
  const waiting = new Set(unfetched.flatMap(({ by }) => by));
  // A student with another submission keeps no stored one beside it.
  const served = new Set(taken.flatMap(({ by }) => by));
  return known
    .filter(({ counts, by }) => counts && by.some((key) => waiting.has(key)) && !by.some((key) => served.has(key)))
    .map(({ key }) => key);
}

/** Whether this intake would start no grading: each submission is stored with the same content, and its last grading attempt has ended. */
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
