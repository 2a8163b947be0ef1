/** Estimates the cost of a regrade, and lists what it changed. Pure. */
import { formatPoints } from "@markmill/classroom/gradebook";
import type { BatchWork } from "@markmill/store";

/** Nanodollars, from the average cost of each submission per grading attempt. null: no cost is known. */
export function regradePrice(works: readonly BatchWork[]): number | null {
  const known = works
    .filter(({ tries, spent }) => tries > 0 && spent.calls > 0)
    .map(({ tries, spent }) => spent.nanodollars / tries);
  if (known.length === 0) return works.some(({ tries }) => tries > 0) ? 0 : null;
  return Math.round((known.reduce((sum, one) => sum + one, 0) / known.length) * works.length);
}

export interface GradeChange {
  readonly work: string;
  readonly students: readonly string[];
  /** In words: points, or the outcome. */
  readonly from: string;
  readonly to: string;
  readonly criteria: readonly { readonly id: string; readonly from: number | null; readonly to: number | null }[];
  readonly changed: boolean;
}

export function gradeChanges(before: readonly BatchWork[], after: readonly BatchWork[]): GradeChange[] {
  const now = new Map(after.map((work) => [work.key, work]));
  return before.map((old) => {
    const fresh = now.get(old.key) ?? old;
    const ids = [...new Set([...criteriaOf(old).keys(), ...criteriaOf(fresh).keys()])];
    const criteria = ids
      .map((id) => ({ id, from: criteriaOf(old).get(id) ?? null, to: criteriaOf(fresh).get(id) ?? null }))
      .filter(({ from, to }) => from !== to);
    const [from, to] = [inWords(old), inWords(fresh)];
    return { work: old.key, students: old.by, from, to, criteria, changed: from !== to || criteria.length > 0 };
  });
}

function criteriaOf({ grade }: BatchWork): ReadonlyMap<string, number> {
  return new Map(
    (grade?.criteria ?? []).flatMap((one) => (one.is === "scored" ? [[one.id, one.points] as const] : [])),
  );
}

function inWords({ grade, standing }: BatchWork): string {
  if (grade === null) return standing.is;
  return grade.total === null ? grade.outcome.is : formatPoints(grade.total);
}
