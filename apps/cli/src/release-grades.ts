/**
 * Decides which grades are released, and for whom. The plan is pure; `recordReleases` writes it.
 *
 * G1  For each student exactly the attempt that counts is released, and only if its grade is final. An attempt that does not count is never
 *     released. The best attempt is not released either while another one that may get more points waits for a person.
 * G2  A release applies to the students it names. A student who joins a submission later needs a separate release.
 * G3  Every student with a submission who is left out is named with the reason.
 * G4  Only the grade that was read is released: if it, or another attempt of the student, has changed since, that release is refused.
 *
 * On kill -9 between two releases, the earlier ones stay valid, and the same command releases the rest. A repeated release has no effect.
 */
import { type GradeSheet, statusOf } from "@markmill/classroom/gradebook";
import { releasedFor } from "@markmill/grading";
import type { BatchWork, TenantBatches } from "@markmill/store";

interface ReadClass {
  readonly sheet: GradeSheet;
  /** By student key: the submission that counts for that student. */
  readonly works: ReadonlyMap<string, BatchWork>;
  readonly all: readonly BatchWork[];
}

interface ReleasePlan {
  readonly releases: readonly Release[];
  /** Keys of students whose current grade is already released. */
  readonly before: readonly string[];
  readonly leftOut: readonly { readonly key: string; readonly name: string; readonly why: string }[];
}

interface Release {
  readonly work: BatchWork;
  /** Keys of the students. */
  readonly students: readonly string[];
  /** Other submissions of these students that affect which one counts. */
  readonly others: readonly BatchWork[];
}

/** `selected`: whether a submission is selected. `whole`: all students are selected, also those without a submission that counts. */
export function planReleases(
  { sheet, works, all }: ReadClass,
  selected: (work: BatchWork) => boolean,
  whole: boolean,
): ReleasePlan {
  const ready = new Map<string, { readonly work: BatchWork; readonly students: string[] }>();
  const before: string[] = [];
  const leftOut: { key: string; name: string; why: string }[] = [];
  for (const row of sheet.rows) {
    const { key, name } = row.student;
    const work = works.get(key);
    const status = statusOf(row);
    if (work === undefined ? !whole || status === "nothing handed in" : !selected(work)) continue;
    const grade = work?.grade ?? null;
    if (work === undefined || grade === null || grade.outcome.is !== "graded") {
      leftOut.push({ key, name, why: grade === null ? status : reasonOf(grade.outcome) });
    } else if (releasedFor(grade, key)?.total === grade.total) before.push(key);
    else ready.set(work.key, { work, students: [...(ready.get(work.key)?.students ?? []), key] });
  }
  const releases = [...ready.values()].map(({ work, students }) => ({
    work,
    students,
    others: all.filter((one) => one.key !== work.key && one.counts && one.by.some((key) => students.includes(key))),
  }));
  return { releases, before, leftOut };
}

function reasonOf(outcome: NonNullable<BatchWork["grade"]>["outcome"]): string {
  if (outcome.is === "graded") return outcome.is;
  return `${outcome.is}: ${outcome.is === "needs human" ? outcome.why.join("; ") : outcome.why}`;
}

/** Returns the keys of students whose release was refused because something has changed since it was read (G4). */
export async function recordReleases(
  batches: Pick<TenantBatches, "record" | "work">,
  id: string,
  releases: readonly Release[],
  by: string,
): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const { work, students, others } of releases) {
    const now = await Promise.all(others.map(({ key }) => batches.work(id, key)));
    const isSame = others.every(
      ({ etag, counts }, index) => now[index]?.etag === etag && now[index]?.counts === counts,
    );
    const done = isSame && (await recordSeen(batches, id, { work: work.key, kind: "released", by, students }, work));
    if (!done) changed.push(...students);
  }
  return changed;
}

/** false: the submission has changed since it was read, and nothing was recorded. */
export async function recordSeen(
  batches: Pick<TenantBatches, "record">,
  id: string,
  said: Parameters<TenantBatches["record"]>[1],
  { etag }: Pick<BatchWork, "etag">,
): Promise<boolean> {
  try {
    await batches.record(id, { ...said, seen: [etag] });
    return true;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === "STORE_GRADE_CHANGED" || code === "GRADE_CHANGED") return false;
    throw error;
  }
}
