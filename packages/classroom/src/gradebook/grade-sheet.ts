/** The grades of a class as they are handed over: one row per member, group work already shared out. */
import type { Grade } from "@markmill/grading";

export interface GradeSheet {
  /** Of the assignment. */
  readonly title: string;
  readonly most: number;
  readonly criteria: readonly { readonly id: string; readonly title: string; readonly points: number }[];
  readonly rows: readonly GradeRow[];
  /** Unreleased grades are in it. */
  readonly draft?: true;
}

export interface GradeRow {
  readonly student: GradedStudent;
  /** null: nothing was handed in, or it is not graded yet. */
  readonly grade: Grade | null;
  /** There is work, and nobody has said anything of it yet. */
  readonly open?: true;
  /** There is work, but only a sample of the class is graded so far, without this one. */
  readonly unsampled?: true;
  /** There may be work, and its repository could not be asked. */
  readonly unfetched?: true;
  /** There is work that may be this student's or another's, and a person has to say whose. */
  readonly unmatched?: true;
  /** Hash of the commit that was graded, of work in a repository. */
  readonly commit?: string;
  /** Whether the grade may be given out. Absent: there is no grade. */
  readonly release?: "released" | "changed since its release" | "not released";
  /** The grade is not handed over; the row has this status instead. */
  readonly withheld?: RowStatus;
  /** Plain text for the student; empty: none. */
  readonly feedback: string;
}

interface GradedStudent {
  readonly key: string;
  readonly name: string;
  /** Moodle's number of a participant, where it is known apart from the id. */
  readonly participant?: string;
  readonly id?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  /** In which the student reads; absent: the language of the class. */
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

/** What may be said of a row in every export; only graded has a number. */
export function statusOf({ grade, open, unsampled, unfetched, unmatched, withheld }: GradeRow): RowStatus {
  if (withheld !== undefined) return withheld;
  if (grade !== null) return grade.outcome.is;
  if (unfetched === true) return "not fetched";
  if (unmatched === true) return "not matched";
  if (unsampled === true) return "not in the sample";
  return open === true ? "waiting" : "nothing handed in";
}

export { formatPoints } from "@markmill/grading";
