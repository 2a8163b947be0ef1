/** What wants a person, where a look changes most first. Pure. */
import type { BatchWork } from "@markmill/store";

const weights: Readonly<Record<string, number>> = {
  "forged results": 6,
  injection: 5,
  tampering: 5,
  disagreement: 4,
  borderline: 3,
  "low confidence": 2,
  similar: 1,
};

/** Those that need a person, and those with flags that nobody has looked at yet. */
export function rankForReview(works: readonly BatchWork[]): BatchWork[] {
  return works
    .filter((work) => work.counts && wants(work))
    .sort((one, other) => benefit(other) - benefit(one) || (one.key < other.key ? -1 : 1));
}

export function reasonsOf({ grade }: BatchWork): readonly string[] {
  if (grade === null) return [];
  const { outcome } = grade;
  if (outcome.is === "needs human") return outcome.why;
  if (outcome.is === "ungradable" || outcome.is === "grader error") return [`${outcome.is}: ${outcome.why}`];
  return grade.flags.map(({ message }) => message);
}

function wants({ grade }: BatchWork): boolean {
  if (grade === null || grade.reviewed !== null) return false;
  return (
    grade.outcome.is === "needs human" ||
    (grade.outcome.is === "graded" && grade.flags.length > 0 && grade.overrides.length === 0)
  );
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
