/** Builds the grade sheet of a batch: one row per student, in the order of the roster's names. Pure. */
import { feedbackText, type GradeRow, type GradeSheet } from "@markmill/classroom/gradebook";
import { type FinalGrade, mostPoints, releasedFor } from "@markmill/grading";
import type { BatchDetail, BatchMember, BatchWork, WorkCommit } from "@markmill/store";
import { countingWorkOf } from "./counting-work.ts";

export interface ClassSheet {
  readonly sheet: GradeSheet;
  /**
   * By student key: the submission whose grade counts, with the grade as it counts for that student. A student without a submission is
   * missing.
   */
  readonly works: ReadonlyMap<string, BatchWork>;
  /** Plain text for a student about a grade, in the student's language. */
  readonly feedbackFor: (student: { readonly language?: string }, grade: FinalGrade) => string;
}

/**
 * Keys of students without a submission in the batch. `unsampled`: there is one outside the sample. `unfetched`: it could not be fetched.
 * `unmatched`: an unmatched file may belong to this student.
 */
export function classSheet(
  {
    name,
    rubric,
    settings,
  }: Pick<BatchDetail, "name" | "rubric"> & { readonly settings?: Pick<BatchDetail["settings"], "language"> },
  members: readonly BatchMember[],
  works: readonly BatchWork[],
  unsampled: ReadonlySet<string> = new Set(),
  unfetched: ReadonlySet<string> = new Set(),
  unmatched: ReadonlySet<string> = new Set(),
): ClassSheet {
  const criteria = rubric.criteria.map(({ id, title, points }) => ({ id, title, points }));
  const most = mostPoints(rubric);
  const ofMember = new Map<string, BatchWork[]>();
  for (const work of works) for (const key of work.by) ofMember.set(key, [...(ofMember.get(key) ?? []), work]);
  const counting = new Map<string, BatchWork>();
  for (const [key, all] of ofMember) {
    const isMissing = unsampled.has(key) || unfetched.has(key);
    const own = isMissing ? all.filter(({ countsFor }) => countsFor?.includes(key) !== false) : all;
    const work = countingWorkOf(key, own);
    if (work !== null) counting.set(key, work);
  }
  const feedbackFor: ClassSheet["feedbackFor"] = ({ language }, grade) =>
    feedbackText({
      grade,
      criteria,
      language: language ?? settings?.language ?? null,
      reviewer: reviewerOf(grade),
    });
  const rows = [...members].sort(byName).map((member) => {
    const work = counting.get(member.key);
    const grade = work?.grade ?? null;
    const { key, name: called, id, participant, sisId, login, email, language } = member;
    return {
      student: { key, name: called, ...given({ id, participant, sisId, login, email, language }) },
      grade,
      ...(grade === null ? {} : { release: releaseOf(grade, key) }),
      ...(work !== undefined && grade === null ? { open: true as const } : {}),
      ...(work === undefined && unsampled.has(key) ? { unsampled: true as const } : {}),
      ...(work === undefined && unfetched.has(key) ? { unfetched: true as const } : {}),
      ...(work === undefined && unmatched.has(key) ? { unmatched: true as const } : {}),
      ...(work === undefined ? {} : given({ commit: commitOf(work)?.hash })),
      feedback: grade === null ? "" : feedbackFor(member, grade),
    };
  });
  return { sheet: { title: name, most, criteria, rows }, works: counting, feedbackFor };
}

/** The person who last reviewed this grade. A release of the whole class is not a review. */
export function reviewerOf({ reviewed, overrides }: FinalGrade): string | null {
  return reviewed?.by ?? overrides.at(-1)?.by ?? null;
}

/** Returns the graded commit of a submission in a repository. */
export function commitOf({ content }: Pick<BatchWork, "content">): WorkCommit | undefined {
  return "commit" in content ? content.commit : undefined;
}

function byName(one: BatchMember, other: BatchMember): number {
  const [left, right] = [one.sortableName ?? one.name, other.sortableName ?? other.name];
  return left.localeCompare(right, "en") || (one.key < other.key ? -1 : 1);
}

function releaseOf(grade: FinalGrade, student: string): GradeRow["release"] & string {
  const { total } = grade;
  const released = releasedFor(grade, student);
  if (released === null) return "not released";
  return released.total === total ? "released" : "changed since its release";
}

function given(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
