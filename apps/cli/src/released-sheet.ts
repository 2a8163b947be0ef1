/**
 * Builds the sheet of the released grades of a class, as they were released. Pure.
 *
 * S1  A grade is exported only if it was released and its total is still the released one.
 * S2  If the attempt that counts was never released, but another attempt of the student is, the released one is exported and reported. Of
 *     several, it is the one that counted before.
 * S3  Every other student with a submission is named with a reason. Such a row has no marks, no total and no feedback.
 */
import { type GradeRow, type GradeSheet, statusOf } from "@markmill/classroom/gradebook";
import { releasedFor } from "@markmill/grading";
import { type ClassSheet, countingWork } from "@markmill/stack";
import type { BatchWork } from "@markmill/store";

export interface Told {
  readonly key: string;
  readonly name: string;
  readonly why: string;
}

export interface ReleasedSheet {
  readonly sheet: GradeSheet;
  /** By student key: the submission whose grade was released. */
  readonly works: ReadonlyMap<string, BatchWork>;
  /** See S3 in the file header. */
  readonly leftOut: readonly Told[];
  /** See S2 in the file header. */
  readonly earlier: readonly Told[];
}

/** `all`: every submission of the class, also those that no longer count. */
export function releasedSheet({
  sheet,
  works,
  all,
  feedbackFor,
}: ClassSheet & { readonly all: readonly BatchWork[] }): ReleasedSheet {
  const given = new Map<string, BatchWork>();
  const leftOut: Told[] = [];
  const earlier: Told[] = [];
  const rows = sheet.rows.map((row): GradeRow => {
    const { key, name } = row.student;
    const counting = works.get(key);
    if (counting !== undefined && row.release === "released") {
      given.set(key, counting);
      return row;
    }
    const before = counting === undefined ? null : releasedBefore(all, key, counting);
    if (before?.grade != null) {
      given.set(key, before);
      const why = `${calledAs(before, counting)} was released and is exported; ${calledAs(counting, before)} counts now: ${unreleased(row)}`;
      earlier.push({ key, name, why });
      const { open: _, ...rest } = row;
      return { ...rest, grade: before.grade, release: "released", feedback: feedbackFor(row.student, before.grade) };
    }
    const status = statusOf(row);
    if (status === "nothing handed in") return row;
    leftOut.push({ key, name, why: unreleased(row) });
    const { release: _, open: __, ...rest } = row;
    return { ...rest, grade: null, feedback: "", withheld: status === "graded" ? "not released" : status };
  });
  return { sheet: { ...sheet, rows }, works: given, leftOut, earlier };
}

/** Attempts of the same people are distinguished by their numbers, others by their names. */
function calledAs(work: BatchWork | undefined, other: BatchWork | undefined): string {
  const people = (one: BatchWork | undefined) => JSON.stringify([...(one?.by ?? [])].sort());
  const isSame = people(work) === people(other) && work?.attempt !== other?.attempt;
  return isSame ? `attempt ${work?.attempt}` : JSON.stringify(work?.label ?? "");
}

/**
 * S2. null: there is none, or the attempt that counts was itself released and then changed or withdrawn; no other attempt replaces it. Of
 * several that still count (`attempts: best`) it is the best one, otherwise the one that was released last.
 */
function releasedBefore(all: readonly BatchWork[], key: string, counting: BatchWork): BatchWork | null {
  if (counting.events.some(({ kind, students }) => kind === "released" && students?.includes(key) !== false))
    return null;
  const released = all.filter(
    ({ by, grade, key: work }) =>
      work !== counting.key &&
      by.includes(key) &&
      grade != null &&
      grade.total !== null &&
      releasedFor(grade, key)?.total === grade.total,
  );
  const [first, ...more] = released.filter(({ counts, countsFor }) => counts && countsFor?.includes(key) !== false);
  if (first !== undefined) {
    const best = countingWork([first, ...more]);
    return best.grade?.total == null ? null : best;
  }
  const at = (work: BatchWork) => work.grade?.released?.at ?? "";
  return released.reduce<BatchWork | null>((last, one) => (last === null || at(one) >= at(last) ? one : last), null);
}

function unreleased(row: GradeRow): string {
  if (row.release === "changed since its release") return row.release;
  const { grade } = row;
  if (grade?.outcome.is === "ungradable" || grade?.outcome.is === "grader error") {
    return `${grade.outcome.is}: ${grade.outcome.why}`;
  }
  const status = statusOf(row);
  return status === "graded" ? "not released" : status;
}
