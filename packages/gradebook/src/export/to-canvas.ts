/**
 * The gradebook file of Canvas, made from the one the teacher exported: only that has the ids. The file that goes back holds the
 * student columns and one assignment, so that nothing else can change. A cell without a grade stays as it was.
 */
import { looksLikeFormula, type Row, readTable, writeTable } from "@markmill/csv";
import { formatPoints, type GradeSheet, statusOf } from "../grade-sheet.ts";
import type { ExportFindingCode } from "./export-codes.ts";
import { type Exported, type ExportFinding, refused } from "./export-finding.ts";
import { RowsByStudent } from "./match-rows.ts";

export interface CanvasOptions {
  /** Title or id of the assignment's column; the sheet's title otherwise. */
  readonly assignment?: string;
  /** Points of the rubric are brought to those of the assignment. */
  readonly rescale?: boolean;
}

export function toCanvas(sheet: GradeSheet, template: string, options: CanvasOptions = {}): Exported {
  const findings: ExportFinding[] = [];
  const error = (code: ExportFindingCode, line: number | null, message: string, fix: string) =>
    findings.push({ severity: "error", code, line, message, fix });
  const { rows, separator, newline } = readTable(template);
  const [header, ...body] = rows;
  const texts = header?.cells.map(({ text }) => text.trim()) ?? [];
  const lastStudentColumn = texts.findIndex((text) => /section/i.test(text));
  if (
    header === undefined ||
    !/student/i.test(texts[0] ?? "") ||
    !/id/i.test(texts[1] ?? "") ||
    lastStudentColumn < 2
  ) {
    error(
      "CANVAS_TEMPLATE",
      1,
      "This is no gradebook exported from Canvas.",
      "In Canvas: Grades, Export, Export Entire Gradebook.",
    );
    return refused(findings);
  }
  const wanted = options.assignment ?? sheet.title;
  const matching = texts.flatMap((text, index) =>
    index > lastStudentColumn && isAssignment(text, wanted) ? [index] : [],
  );
  const [column] = matching;
  if (column === undefined || matching.length > 1) {
    const known = texts.slice(lastStudentColumn + 1).filter((text) => /\(\d+\)$/.test(text));
    error(
      "CANVAS_ASSIGNMENT",
      1,
      `The gradebook has ${matching.length === 0 ? "no" : "more than one"} assignment "${wanted}".`,
      `Name one by its title or number: ${known.slice(0, 10).join(", ") || "there is none yet; create it in Canvas first"}.`,
    );
    return refused(findings);
  }
  const points = body.find((row) => isPointsRow(row));
  const possible = Number((points?.cells[column]?.text ?? "").trim().replace(",", "."));
  const hasPossible =
    points !== undefined && (points.cells[column]?.text.trim() ?? "") !== "" && Number.isFinite(possible);
  const factor = hasPossible && possible !== sheet.most ? possible / sheet.most : 1;
  if (factor !== 1 && options.rescale !== true) {
    error(
      "CANVAS_POINTS",
      points?.line ?? null,
      `The rubric has ${sheet.most} points, the assignment in Canvas ${possible}.`,
      "Change one of the two, or ask for the grades to be rescaled.",
    );
  }
  const byStudent = new RowsByStudent(sheet.rows, ({ student }) => [
    student.id,
    student.sisId,
    student.login,
    student.email,
  ]);
  const out: string[][] = [[...texts.slice(0, lastStudentColumn + 1), texts[column] ?? ""]];
  if (points !== undefined) out.push(cellsOf(points, lastStudentColumn, points.cells[column]?.text ?? ""));
  let written = 0;
  for (const row of body) {
    const name = row.cells[0]?.text.trim() ?? "";
    if (isPointsRow(row) || name === "" || /^student, test$/i.test(name)) continue;
    const keys = row.cells.slice(0, lastStudentColumn + 1).map(({ text }) => text);
    const bad = keys.find((text) => looksLikeFormula(text.trim()));
    if (bad !== undefined) {
      error(
        "EXPORT_KEY_FORMULA",
        row.line,
        `"${bad.slice(0, 40)}" begins like a formula.`,
        "Correct it in Canvas and export again.",
      );
      continue;
    }
    const before = row.cells[column]?.text.trim() ?? "";
    const found = byStudent.find(keys.slice(1, lastStudentColumn), name);
    const total = found?.grade?.total ?? null;
    if (/^ex$/i.test(before) && total !== null) {
      findings.push({
        severity: "warning",
        code: "CANVAS_EXCUSED",
        line: row.line,
        message: `${name} is excused and stays so.`,
        fix: "Take the excuse away in Canvas if the grade shall count.",
      });
    }
    const value = total === null || /^ex$/i.test(before) ? before : formatPoints(total * factor, 2);
    if (value !== before || total !== null) written += total === null ? 0 : 1;
    out.push(cellsOf(row, lastStudentColumn, value));
  }
  for (const row of byStudent.left.filter((one) => one.grade !== null)) {
    findings.push({
      severity: "warning",
      code: "EXPORT_NO_ROW",
      line: null,
      message: `${row.student.name} (${statusOf(row)}) has no row in the gradebook and is left out.`,
      fix: "Export the gradebook again if the student is in the course.",
    });
  }
  if (findings.some(({ severity }) => severity === "error")) return refused(findings);
  const bom = template.startsWith("\ufeff");
  return {
    ok: true,
    files: [{ name: "canvas.csv", text: writeTable(out, { separator, newline, bom }) }],
    written,
    findings,
  };
}

function cellsOf(row: Row, last: number, value: string): string[] {
  return [...Array.from({ length: last + 1 }, (_, index) => row.cells[index]?.text ?? ""), value];
}

function isPointsRow(row: Row): boolean {
  return /points possible/i.test(row.cells[0]?.text ?? "");
}

function isAssignment(header: string, wanted: string): boolean {
  const [, title = "", id = ""] = /^(.*)\s\((\d+)\)$/s.exec(header) ?? [];
  return id !== "" && (id === wanted || title === wanted || header === wanted);
}
