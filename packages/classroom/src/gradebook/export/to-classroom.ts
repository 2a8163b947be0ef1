/**
 * Writes results for GitHub Classroom's reporter: one runner per criterion. Its console shows the share of passed tests times max_score,
 * and its notice shows the sum of scores. The points are divided into equal tests, so that both numbers equal the points of the criterion.
 * If that takes too many tests, a second runner holds the missing points.
 */
import { sumPoints } from "@markmill/grading";
import type { GradeRow, GradeSheet } from "../grade-sheet.ts";
import type { Exported, ExportedFile, ExportFinding } from "./export-finding.ts";
import { fileNameOf } from "./file-name.ts";
import { noGrade } from "./no-grade.ts";

/** A student sees every single test. */
const MOST_PIECES = 1_000;

export function toClassroom(sheet: GradeSheet): Exported {
  const findings: ExportFinding[] = [];
  const files: ExportedFile[] = [];
  for (const row of sheet.rows) {
    if (row.grade?.total === null || row.grade === null) {
      findings.push(noGrade(row));
      continue;
    }
    const shown = sumPoints(
      row.grade.criteria.flatMap((one) => (one.is === "scored" && one.points > 0 ? [one.points] : [])),
    );
    if (shown !== row.grade.total) {
      findings.push({
        severity: "left out",
        code: "CLASSROOM_DEDUCTION",
        line: null,
        message: `${row.student.name} was skipped: GitHub Classroom cannot show penalties and deductions.`,
        fix: "Enter this grade by hand, or use another export.",
      });
      continue;
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
    const [all, got] = [thousandths(most), thousandths(found.points)];
    const unit = greatestDivisor(all, got);
    const add = (runner: string, name: string, worth: number, passed: number, piece: number) => {
      const count = worth / piece;
      const tests = Array.from({ length: count }, (_, index) => ({
        name: count === 1 ? name : `${name} (${index + 1} of ${count})`,
        status: index < passed ? "pass" : "fail",
        score: index < passed ? piece / 1000 : 0,
        line_no: 0,
        message: index === 0 ? found.comment : "",
        test_code: "",
      }));
      const result = { version: 1, status: passed === count ? "pass" : "fail", max_score: worth / 1000, tests };
      ids.push(runner);
      env[`${runner.toUpperCase()}_RESULTS`] = Buffer.from(JSON.stringify(result)).toString("base64");
    };
    if (all / unit <= MOST_PIECES) add(id, title, all, got / unit, unit);
    else {
      add(id, title, got, 1, got);
      add(`${id}-missing`, `${title}: missing points`, all - got, 0, all - got);
    }
  }
  return { runners: ids.join(","), env };
}

function thousandths(points: number): number {
  return Math.round(points * 1000);
}

/** The largest part that divides both numbers. */
function greatestDivisor(one: number, other: number): number {
  let [a, b] = [one, other];
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
