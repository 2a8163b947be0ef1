/** Used by targets with one file per student: a student without a grade gets no file, which is reported and is not a zero. */
import { type GradeRow, statusOf } from "../grade-sheet.ts";
import type { ExportFinding } from "./export-finding.ts";

export function noGrade(row: GradeRow): ExportFinding {
  return {
    severity: "warning",
    code: "EXPORT_NO_GRADE",
    line: null,
    message: `${row.student.name}: ${statusOf(row)}, so no result is written.`,
    fix: "Grade the submission, or set the points by hand.",
  };
}
