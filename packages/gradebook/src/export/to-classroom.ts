/**
 * For GitHub Classroom's reporter: one runner per criterion. Its console shows the share of passed tests times max_score, its notice the
 * sum of scores; so points are cut into equal tests, of which as many pass as make both agree.
 */
import type { GradeRow, GradeSheet } from "../grade-sheet.ts";
import type { Exported, ExportedFile, ExportFinding } from "./export-finding.ts";
import { fileNameOf } from "./file-name.ts";
import { noGrade } from "./no-grade.ts";

/** More pieces than this are a rounding of ours, not a rubric. */
const MOST_PIECES = 1_000;

export function toClassroom(sheet: GradeSheet): Exported {
  const findings: ExportFinding[] = [];
  const files: ExportedFile[] = [];
  for (const row of sheet.rows) {
    if (row.grade?.total === null || row.grade === null) {
      findings.push(noGrade(row));
      continue;
    }
    if (row.grade.points !== row.grade.total || sheet.criteria.some(({ points }) => points < 0)) {
      findings.push({
        severity: "warning",
        code: "CLASSROOM_DEDUCTION",
        line: null,
        message: `${row.student.name}: penalties and deductions have no place in Classroom and are left out.`,
        fix: "Take them off by hand, or use another export.",
      });
    }
    files.push({
      name: `classroom/${fileNameOf(row.student.key)}.json`,
      text: `${JSON.stringify(runnersOf(sheet, row), null, 2)}\n`,
    });
  }
  return { ok: true, files, written: files.length, findings };
}

function runnersOf(sheet: GradeSheet, row: GradeRow): { runners: string; env: Record<string, string> } {
  const env: Record<string, string> = {};
  const ids: string[] = [];
  for (const { id, title, points: most } of sheet.criteria) {
    const found = row.grade?.criteria.find((one) => one.id === id);
    if (found?.is !== "scored" || most <= 0) continue;
    const unit = pieceOf(most, found.points);
    const count = Math.round((most * 1000) / unit);
    const passed = Math.round((found.points * 1000) / unit);
    const tests = Array.from({ length: count }, (_, index) => ({
      name: count === 1 ? title : `${title} (${index + 1} of ${count})`,
      status: index < passed ? "pass" : "fail",
      score: index < passed ? unit / 1000 : 0,
      line_no: 0,
      message: index === 0 ? found.comment : "",
      test_code: "",
    }));
    const result = { version: 1, status: passed === count ? "pass" : "fail", max_score: most, tests };
    ids.push(id);
    env[`${id.toUpperCase()}_RESULTS`] = Buffer.from(JSON.stringify(result)).toString("base64");
  }
  return { runners: ids.join(","), env };
}

/** Thousandths of a point: the largest piece that both numbers are made of. */
function pieceOf(most: number, points: number): number {
  let [a, b] = [Math.round(most * 1000), Math.round(points * 1000)];
  while (b !== 0) [a, b] = [b, a % b];
  return Math.max(a, Math.ceil((most * 1000) / MOST_PIECES));
}
