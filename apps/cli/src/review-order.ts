/**
 * Builds the review list: submissions that need a human decision, and graded ones with flags that were not reviewed. Pure.
 *
 * L1  A student is listed as "needs human" if and only if the student's status is "needs human": both come from the same counting
 *     submission (stack/counting-work.ts). A review does not remove a submission with an open criterion from the list.
 * L2  The order is by benefit: submissions where a decision changes most come first. Equal ones are sorted by student, then by the number
 *     of the attempt.
 */
import type { BatchWork } from "@markmill/store";

export interface ReviewItem {
  readonly is: "needs human" | "flagged";
  readonly work: BatchWork;
  /** Keys of the students for whom it counts with this state. */
  readonly students: readonly string[];
  readonly why: readonly string[];
}

const weights: Readonly<Record<string, number>> = {
  "forged results": 6,
  injection: 5,
  tampering: 5,
  disagreement: 4,
  borderline: 3,
  "low confidence": 2,
  similar: 1,
};

/** `works`: by student key, the submission that counts for that student. */
export function reviewList(works: ReadonlyMap<string, BatchWork>): ReviewItem[] {
  const items = new Map<string, ReviewItem>();
  for (const [student, work] of works) {
    const is = wants(work);
    if (is === null) continue;
    const why = reasonsOf(work);
    const place = JSON.stringify([work.key, why]);
    const known = items.get(place);
    items.set(place, { is, work, why, students: [...(known?.students ?? []), student] });
  }
  return [...items.values()].sort(
    (one, other) => benefit(other.work) - benefit(one.work) || compareWorks(one.work, other.work),
  );
}

export function reasonsOf({ grade }: BatchWork): readonly string[] {
  if (grade === null) return [];
  const { outcome } = grade;
  if (outcome.is === "needs human") return outcome.why;
  if (outcome.is === "ungradable" || outcome.is === "grader error") return [`${outcome.is}: ${outcome.why}`];
  return grade.flags.map(({ message }) => message);
}

/** The number of items, in words. */
export function tellQueue(items: readonly ReviewItem[]): string {
  const open = items.filter(({ is }) => is === "needs human").length;
  const flagged = items.length - open;
  if (items.length === 0) return "No submission needs a human decision.";
  const parts = [
    ...(open > 0 ? [`${open} ${open === 1 ? "submission needs" : "submissions need"} a human decision`] : []),
    ...(flagged > 0 ? [`${flagged} graded with flags that no one has reviewed`] : []),
  ];
  return parts.join(", ");
}

/** See L1 in the file header. */
function wants({ grade }: BatchWork): ReviewItem["is"] | null {
  if (grade === null) return null;
  if (grade.outcome.is === "needs human") return "needs human";
  const unseen = grade.flags.length > 0 && grade.reviewed === null && grade.overrides.length === 0;
  return grade.outcome.is === "graded" && unseen ? "flagged" : null;
}

function compareWorks(one: BatchWork, other: BatchWork): number {
  const [left, right] = [one.by.join("+"), other.by.join("+")];
  if (left !== right) return left < right ? -1 : 1;
  return one.attempt - other.attempt;
}

function benefit({ grade }: BatchWork): number {
  if (grade === null) return 0;
  const open = grade.criteria.filter(({ is }) => is === "not graded").length;
  const flags = grade.flags.map(({ kind }) => weights[kind] ?? 1);
  const unsure = grade.criteria.map((one) => (one.is === "scored" && one.confidence !== null ? 1 - one.confidence : 0));
  return (
    (grade.outcome.is === "needs human" ? 100 : 0) + 10 * open + Math.max(0, ...flags) * 2 + Math.max(0, ...unsure)
  );
}
