// Our own table: everything there is to say about each student, in cells a spreadsheet takes for text.
import { guardCell, looksLikeFormula, writeTable } from "@markmill/csv";
import { formatPoints, type GradeSheet, statusOf } from "../grade-sheet.ts";
import { type Exported, type ExportFinding, refused } from "./export-finding.ts";

export function toCsv(sheet: GradeSheet): Exported {
  const findings: ExportFinding[] = [];
  const header = [
    "key",
    "id",
    "login",
    "email",
    "name",
    "status",
    "total",
    "most",
    "points",
    "penalty",
    ...sheet.criteria.map(({ id }) => id),
    "flags",
    "feedback",
  ];
  const rows: string[][] = [header];
  let written = 0;
  for (const [index, row] of sheet.rows.entries()) {
    const { student, grade, feedback } = row;
    const keys = [student.key, student.id ?? "", student.login ?? "", student.email ?? ""];
    const bad = keys.find((text) => looksLikeFormula(text));
    if (bad !== undefined) {
      findings.push({
        severity: "error",
        code: "EXPORT_KEY_FORMULA",
        line: index + 2,
        message: `"${bad.slice(0, 40)}" begins like a formula.`,
        fix: "Correct it in the roster.",
      });
    }
    if (grade !== null && grade.total !== null) written += 1;
    const points = (value: number | null | undefined) =>
      value === null || value === undefined ? "" : formatPoints(value);
    const criteria = sheet.criteria.map(({ id }) => {
      const found = grade?.criteria.find((one) => one.id === id);
      return found?.is === "scored" ? points(found.points) : "";
    });
    const flags = (grade?.flags ?? []).map(({ kind }) => kind).join(" ");
    rows.push([
      ...keys,
      guardCell(student.name),
      statusOf(row),
      points(grade?.total),
      points(sheet.most),
      points(grade?.points),
      points(grade?.penalty?.points),
      ...criteria,
      flags,
      guardCell(feedback),
    ]);
  }
  if (findings.length > 0) return refused(findings);
  return { ok: true, files: [{ name: "grades.csv", text: writeTable(rows, { bom: true }) }], written, findings };
}
