/**
 * Writes the gradebook file of Canvas, based on the one that the teacher exported, because only that has the ids. The written file contains
 * the student columns and one assignment, so that no other grade can change. A cell without a grade stays unchanged. A row that cannot be
 * written is left out and named.
 */
import { looksLikeFormula } from "../../csv/formula.ts";
import { type Row, readTable } from "../../csv/read-table.ts";
import { writeTable } from "../../csv/write-table.ts";
import { formatPoints, type GradeSheet } from "../grade-sheet.ts";
import type { ExportFindingCode } from "./export-codes.ts";
import { type Exported, type ExportFinding, refused } from "./export-finding.ts";
import { type KeyKind, matchRows, type TemplateRow } from "./match-rows.ts";
import { isSameMaximum, readMaximum, rescalePoints } from "./rescale-points.ts";
import { doubtFinding, formulaFinding, noRowFinding, onceEach, pointsFinding, rescaleFinding } from "./row-findings.ts";

export interface CanvasOptions {
  /** Title or id of the assignment's column. Default: the sheet's title. */
  readonly assignment?: string;
  /** Rescale points of the rubric to those of the assignment. */
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
      "The file is not a gradebook exported from Canvas.",
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
      `Name an assignment by its title or number: ${known.slice(0, 10).join(", ") || "the gradebook has none, so create it in Canvas first"}.`,
    );
    return refused(findings);
  }
  const points = body.find((row) => isPointsRow(row));
  const given = points?.cells[column]?.text ?? "";
  const possible = readMaximum(given);
  if (options.rescale === true && (possible === null || possible === 0 || sheet.most <= 0)) {
    return refused([rescaleFinding(points?.line ?? null, sheet.most, given)]);
  }
  const differs = possible === null ? given.trim() !== "" : !isSameMaximum(possible, sheet.most);
  if (differs && options.rescale !== true) {
    return refused([pointsFinding("CANVAS_POINTS", points?.line ?? null, "Canvas", sheet.most, given)]);
  }
  const out: string[][] = [[...texts.slice(0, lastStudentColumn + 1), texts[column] ?? ""]];
  if (points !== undefined) out.push(cellsOf(points, lastStudentColumn, given));
  const people = body.filter((row) => !isPointsRow(row) && isStudent(row));
  const rowsOfFile = people.map((row) => rowOf(row, texts, lastStudentColumn));
  const matches = matchRows(sheet.rows, rowsOfFile, { alsoId: "sisId" });
  let written = 0;
  for (const [at, row] of people.entries()) {
    const match = matches.rows[at];
    const own = rowsOfFile[at];
    if (match === undefined || own === undefined) continue;
    const bad = cellsOf(row, lastStudentColumn, "").find((text) => looksLikeFormula(text.trim()));
    if (bad !== undefined) {
      findings.push(
        formulaFinding(
          row.line,
          bad,
          match.is === "matched" ? match.student.student.name : "",
          "Correct it in Canvas and export again.",
        ),
      );
      continue;
    }
    if (match.is === "doubtful") findings.push(doubtFinding(own, match.doubt));
    const before = row.cells[column]?.text.trim() ?? "";
    const total = match.is === "matched" ? (match.student.grade?.total ?? null) : null;
    const excused = /^ex$/i.test(before);
    if (excused && total !== null) {
      findings.push({
        severity: "left out",
        code: "CANVAS_EXCUSED",
        line: row.line,
        message: `${own.name} is excused in Canvas. The row does not change.`,
        fix: "Remove the excuse in Canvas if the grade should count.",
      });
    }
    if (total === null || excused) {
      out.push(cellsOf(row, lastStudentColumn, before));
      continue;
    }
    // Canvas compares grades at two decimals.
    const value = differs && possible !== null ? rescalePoints(total, sheet.most, possible) : formatPoints(total, 2);
    out.push(cellsOf(row, lastStudentColumn, value));
    written += 1;
  }
  for (const row of matches.left.filter((one) => one.grade !== null)) findings.push(noRowFinding(row, "gradebook"));
  const bom = template.startsWith("\ufeff");
  return {
    ok: true,
    files: [{ name: "canvas.csv", text: writeTable(out, { separator, newline, bom }) }],
    written,
    findings: onceEach(findings),
  };
}

const columnKinds: Readonly<Record<string, KeyKind>> = {
  id: "id",
  "sis user id": "sisId",
  "sis login id": "login",
};

/** Keys by the kind of their column. */
function rowOf(row: Row, header: readonly string[], last: number): TemplateRow {
  const keys: Partial<Record<KeyKind, string>> = {};
  for (let index = 1; index < last; index += 1) {
    const kind = columnKinds[header[index]?.toLowerCase() ?? ""];
    if (kind !== undefined) keys[kind] = row.cells[index]?.text.trim() ?? "";
  }
  return { line: row.line, name: row.cells[0]?.text.trim() ?? "", keys };
}

/** Canvas adds a test student, "Student, Test", at the end, and lines about posting. */
function isStudent(row: Row): boolean {
  const name = row.cells[0]?.text.trim() ?? "";
  return name !== "" && !/^student, test$/i.test(name);
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
