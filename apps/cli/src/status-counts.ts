/** Counts students by status. Pure: it uses the same rows as the table, the exports and the review list. */
import { type GradeSheet, statusOf } from "@markmill/classroom/gradebook";

export function statusCounts({ rows }: Pick<GradeSheet, "rows">): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(statusOf(row), (counts.get(statusOf(row)) ?? 0) + 1);
  return counts;
}

export function tellCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}
