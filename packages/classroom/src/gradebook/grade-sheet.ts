/** The grades of a class for exports and reports: one row per student. A group's submission appears in the row of each of its students. */
import type { Grade } from "@markmill/grading";

export interface GradeSheet {
  /** The title of the assignment. */
  readonly title: string;
  readonly most: number;
  readonly criteria: readonly { readonly id: string; readonly title: string; readonly points: number }[];
  readonly rows: readonly GradeRow[];
  /** The sheet contains unreleased grades. */
  readonly draft?: true;
}

export interface GradeRow {
  readonly student: GradedStudent;
  /** null: the student submitted nothing, or it is not graded yet. */
  readonly grade: Grade | null;
  /** There is a submission without any proposal or decision. */
  readonly open?: true;
  /** There is a submission, but it is not in the graded sample. */
  readonly unsampled?: true;
  /** There may be a submission, but its repository could not be fetched. */
  readonly unfetched?: true;
  /** There is a submission that belongs to this student or to another one. A person must decide. */
  readonly unmatched?: true;
  /** Hash of the graded commit, if the submission is in a repository. */
  readonly commit?: string;
  /** Whether the grade may be given to the student. Absent: there is no grade. */
  readonly release?: "released" | "changed since its release" | "not released";
  /** The grade is not exported, and the row has this status instead. */
  readonly withheld?: RowStatus;
  /** Plain text for the student. Empty: none. */
  readonly feedback: string;
}

interface GradedStudent {
  readonly key: string;
  readonly name: string;
  /** Moodle's participant number, if it is known apart from the id. */
  readonly participant?: string;
  readonly id?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  /** The language of the student. Absent: the language of the class. */
  readonly language?: string;
}

export type RowStatus =
  | "graded"
  | "ungradable"
  | "grader error"
  | "needs human"
  | "nothing handed in"
  | "not in the sample"
  | "not fetched"
  | "not matched"
  | "not released"
  | "waiting";

/** The status of a row in every export. Only "graded" has a number. */
export function statusOf({ grade, open, unsampled, unfetched, unmatched, withheld }: GradeRow): RowStatus {
  if (withheld !== undefined) return withheld;
  if (grade !== null) return grade.outcome.is;
  if (unfetched === true) return "not fetched";
  if (unmatched === true) return "not matched";
  if (unsampled === true) return "not in the sample";
  return open === true ? "waiting" : "nothing handed in";
}

export { formatPoints } from "@markmill/grading";
