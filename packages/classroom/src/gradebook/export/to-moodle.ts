/**
 * Writes Moodle's grading worksheet, based on the one that the teacher downloaded: its headers are in the site's language, and its times
 * show which grade is newer. Only grade and feedback are written; every other cell stays unchanged.
 */
import { guardCell, looksLikeFormula } from "../../csv/formula.ts";
import { type Row, readTable } from "../../csv/read-table.ts";
import { writeTable } from "../../csv/write-table.ts";
import { formatPoints, type GradeSheet } from "../grade-sheet.ts";
import type { ExportFindingCode } from "./export-codes.ts";
import { type Exported, type ExportFinding, refused } from "./export-finding.ts";
import { matchRows } from "./match-rows.ts";
import { isSameMaximum, readMaximum, rescalePoints } from "./rescale-points.ts";
import { doubtFinding, formulaFinding, noRowFinding, onceEach, pointsFinding, rescaleFinding } from "./row-findings.ts";

export interface MoodleOptions {
  readonly rescale?: boolean;
}

const headers = {
  identifier: ["identifier", "id", "identificador", "identifiant", "identificatore"],
  name: ["full name", "vollständiger name", "nombre completo", "nom complet", "cognome/nome"],
  idNumber: ["id number", "id-nummer", "número de id", "numéro d'identification", "codice identificativo"],
  username: ["username", "anmeldename", "nombre de usuario", "nom d'utilisateur"],
  email: [
    ...["email address", "e-mail-adresse", "dirección de correo", "adresse de courriel"],
    ...["e-mail address", "email", "dirección email", "indirizzo email"],
  ],
  grade: ["grade", "bewertung", "calificación", "note", "valutazione"],
  most: ["maximum grade", "bestwertung", "calificación máxima", "note maximale", "valutazione massima"],
  feedback: [
    "feedback comments",
    "feedback als kommentar",
    "comentarios de retroalimentación",
    "feedback par commentaires",
  ],
  locked: [
    ...["grade can be changed", "bewertung kann geändert werden", "la calificación puede cambiarse"],
    ...["la note peut être modifiée", "la valutazione può essere modificata"],
  ],
} as const;

export function toMoodle(sheet: GradeSheet, template: string, options: MoodleOptions = {}): Exported {
  const findings: ExportFinding[] = [];
  const note = (
    severity: ExportFinding["severity"],
    code: ExportFindingCode,
    line: number | null,
    message: string,
    fix: string,
  ) => findings.push({ severity, code, line, message, fix });
  const { rows, separator, newline } = readTable(template);
  const [header, ...body] = rows;
  const texts = header?.cells.map(({ text }) => text.trim()) ?? [];
  const find = (field: keyof typeof headers) =>
    texts.findIndex((text) => (headers[field] as readonly string[]).includes(text.toLowerCase()));
  const numbered = texts.findIndex(
    (_, index) => body.length > 0 && body.every((row) => /^\S.*\D\d+$/.test(row.cells[index]?.text.trim() ?? "")),
  );
  const identifier = find("identifier") >= 0 ? find("identifier") : numbered;
  const [grade, most, feedback, locked] = [find("grade"), find("most"), find("feedback"), find("locked")];
  if (header === undefined || identifier < 0 || grade < 0) {
    note(
      "error",
      "MOODLE_TEMPLATE",
      1,
      "The file is not a grading worksheet from Moodle.",
      "In Moodle: the assignment, Submissions, Download grading worksheet.",
    );
    return refused(findings);
  }
  if (feedback < 0 && sheet.rows.some((row) => row.feedback !== "")) {
    note(
      "warning",
      "MOODLE_FEEDBACK",
      1,
      "The worksheet has no column for feedback, so no feedback is written.",
      "Enable feedback comments in the assignment's settings.",
    );
  }
  const comma = body.some((row) => /^\d+,\d+$/.test((row.cells[most]?.text ?? row.cells[grade]?.text ?? "").trim()));
  const [name, email, idNumber, username] = [find("name"), find("email"), find("idNumber"), find("username")];
  const cell = (row: Row, index: number) => (index < 0 ? "" : (row.cells[index]?.text.trim() ?? ""));
  const rowsOfFile = body.map((row) => ({
    line: row.line,
    name: cell(row, name),
    keys: {
      participant: /(?<!\d)(\d+)$/.exec(cell(row, identifier))?.[1] ?? "",
      id: cell(row, idNumber),
      login: cell(row, username),
      email: cell(row, email),
    },
  }));
  const matches = matchRows(sheet.rows, rowsOfFile, { alsoId: "participant" });
  const out: string[][] = [texts];
  let written = 0;
  for (const [at, row] of body.entries()) {
    const cells = Array.from(
      { length: Math.max(texts.length, row.cells.length) },
      (_, index) => row.cells[index]?.text ?? "",
    );
    const match = matches.rows[at];
    const own = rowsOfFile[at];
    if (match === undefined || own === undefined) continue;
    const bad = [identifier, name, email, idNumber, username]
      .map((index) => cell(row, index))
      .find((text) => looksLikeFormula(text));
    if (bad !== undefined) {
      const student = match.is === "matched" ? match.student.student.name : "";
      findings.push(formulaFinding(row.line, bad, student, "Correct it in Moodle and download again."));
      continue;
    }
    if (match.is === "doubtful") findings.push(doubtFinding(own, match.doubt));
    const found = match.is === "matched" ? match.student : null;
    const total = found?.grade?.total ?? null;
    if (found !== null && total !== null) {
      const given = cell(row, most);
      const limit = readMaximum(given);
      if (options.rescale === true && (limit === null || limit === 0 || sheet.most <= 0)) {
        return refused([rescaleFinding(row.line, sheet.most, given)]);
      }
      const differs = limit === null ? most >= 0 : !isSameMaximum(limit, sheet.most);
      if (differs && options.rescale !== true) {
        return refused([pointsFinding("MOODLE_POINTS", row.line, "Moodle", sheet.most, given)]);
      }
      // Moodle keeps five decimals, so points that are not rescaled stay exact.
      const value = differs && limit !== null ? rescalePoints(total, sheet.most, limit) : formatPoints(total);
      if (isNo(cell(row, locked))) {
        // Moodle would silently skip the row. The existing grade may be the same one, which needs no warning.
        if (readMaximum(cell(row, grade)) !== Number(value)) {
          note(
            "left out",
            "MOODLE_LOCKED",
            row.line,
            `The grade of ${own.name || cell(row, identifier)} is locked in Moodle. The row does not change.`,
            "Unlock the grade in Moodle's gradebook, download the worksheet again and export again.",
          );
        }
        out.push(cells);
        continue;
      }
      cells[grade] = comma ? value.replace(".", ",") : value;
      if (feedback >= 0 && found.feedback !== "") cells[feedback] = guardCell(asHtml(found.feedback));
      written += 1;
    }
    out.push(cells);
  }
  for (const row of matches.left.filter((one) => one.grade !== null)) findings.push(noRowFinding(row, "worksheet"));
  const bom = template.startsWith("\ufeff");
  return {
    ok: true,
    files: [{ name: "moodle.csv", text: writeTable(out, { separator, newline, bom }) }],
    written,
    findings: onceEach(findings),
  };
}

function isNo(text: string): boolean {
  return /^(?:no|nein|non|0)$/i.test(text.trim());
}

/** Moodle shows the comment as HTML. */
function asHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(/\r?\n/g, "<br>");
}
