/** The grades of a class as they are handed over: one row per member, group work already shared out. */
import type { Grade } from "@markmill/grading";

export interface GradeSheet {
  /** Of the assignment. */
  readonly title: string;
  readonly most: number;
  readonly criteria: readonly { readonly id: string; readonly title: string; readonly points: number }[];
  readonly rows: readonly GradeRow[];
}

export interface GradeRow {
  readonly student: GradedStudent;
  /** null: nothing was handed in. */
  readonly grade: Grade | null;
  /** Plain text for the student; empty: none. */
  readonly feedback: string;
}

export interface GradedStudent {
  readonly key: string;
  readonly name: string;
  readonly id?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
}

/** What may be said of a row in every export; only graded has a number. */
export function statusOf({
  grade,
}: GradeRow): "graded" | "ungradable" | "grader error" | "needs human" | "nothing handed in" {
  return grade === null ? "nothing handed in" : grade.outcome.is;
}

/** Two decimals, as gradebooks compare them. */
export function formatPoints(points: number): string {
  return String(Math.round(Math.round(points * 1000) / 10) / 100);
}
