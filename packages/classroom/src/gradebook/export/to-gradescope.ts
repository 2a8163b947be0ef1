// Writes one results.json per student, in the format of a Gradescope autograder.
import type { CriterionGrade } from "@markmill/grading";
import { formatPoints, type GradeRow, type GradeSheet } from "../grade-sheet.ts";
import type { Exported, ExportedFile, ExportFinding } from "./export-finding.ts";
import { fileNameOf } from "./file-name.ts";
import { noGrade } from "./no-grade.ts";

export function toGradescope(sheet: GradeSheet): Exported {
  const findings: ExportFinding[] = [];
  const files: ExportedFile[] = [];
  for (const row of sheet.rows) {
    if (row.grade?.total === null || row.grade === null) {
      findings.push(noGrade(row));
      continue;
    }
    files.push({
      name: `gradescope/${fileNameOf(row.student.key)}/results.json`,
      text: resultsOf(sheet, row, row.grade.total),
    });
  }
  return { ok: true, files, written: files.length, findings };
}

function resultsOf(sheet: GradeSheet, row: GradeRow, total: number): string {
  const tests = (row.grade?.criteria ?? []).map((one, index) => testOf(sheet, one, index));
  const results = {
    // The score includes penalties, which no test contains. It overrides the sum of the tests.
    score: total,
    output: row.feedback.replaceAll("\r\n", "\n"),
    output_format: "text",
    visibility: "after_published",
    stdout_visibility: "hidden",
    tests,
    extra_data: { total_points: formatPoints(sheet.most), penalty: row.grade?.penalty?.points ?? 0 },
  };
  return `${JSON.stringify(results, null, 2)}\n`;
}

function testOf(sheet: GradeSheet, one: CriterionGrade, index: number): Record<string, unknown> {
  const criterion = sheet.criteria.find(({ id }) => id === one.id);
  const most = Math.max(0, criterion?.points ?? 0);
  const points = one.is === "scored" ? one.points : 0;
  return {
    name: criterion?.title ?? one.id,
    number: String(index + 1),
    score: points,
    max_score: most,
    status: points >= most ? "passed" : "failed",
    output: one.is === "scored" ? one.comment.replaceAll("\r\n", "\n") : "",
    output_format: "text",
    visibility: "after_published",
  };
}
