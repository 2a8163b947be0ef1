import { type GradeSheet, statusOf } from "../grade-sheet.ts";
import type { Exported } from "./export-finding.ts";

/** Writes complete grades for programs. The version increases when a field changes its meaning. */
export function toJson(sheet: GradeSheet): Exported {
  const rows = sheet.rows.map((row) => ({ ...row, status: statusOf(row) }));
  const text = `${JSON.stringify({ version: 1, ...sheet, rows }, null, 2)}\n`;
  return {
    ok: true,
    files: [{ name: "grades.json", text }],
    written: rows.filter(({ grade }) => grade?.total != null).length,
    findings: [],
  };
}
