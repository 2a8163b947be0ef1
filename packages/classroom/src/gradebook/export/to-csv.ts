// Writes our own table: all data about each student, in cells that a spreadsheet reads as text.
import { guardCell, looksLikeFormula } from "../../csv/formula.ts";
import { writeTable } from "../../csv/write-table.ts";
import { formatPoints, type GradeSheet, statusOf } from "../grade-sheet.ts";
import type { Exported, ExportFinding } from "./export-finding.ts";
import { formulaFinding } from "./row-findings.ts";

export function toCsv(sheet: GradeSheet): Exported {
  const findings: ExportFinding[] = [];
  const hasCommits = sheet.rows.some(({ commit }) => commit !== undefined);
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
    "release",
    ...sheet.criteria.map(({ id }) => id),
    "flags",
    ...(hasCommits ? ["commit"] : []),
    "feedback",
  ];
  const rows: string[][] = [header];
  let written = 0;
  for (const row of sheet.rows) {
    const { student, grade, feedback } = row;
    const keys = [student.key, student.id ?? "", student.login ?? "", student.email ?? ""];
    const bad = keys.find((text) => looksLikeFormula(text));
    if (bad !== undefined) {
      findings.push(formulaFinding(null, bad, student.name, "Correct it in the roster."));
      continue;
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
      row.release ?? "",
      ...criteria,
      flags,
      ...(hasCommits ? [row.commit ?? ""] : []),
      guardCell(feedback),
    ]);
  }
  return { ok: true, files: [{ name: "grades.csv", text: writeTable(rows, { bom: true }) }], written, findings };
}
