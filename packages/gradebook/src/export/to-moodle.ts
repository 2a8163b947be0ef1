/**
 * Moodle's grading worksheet, made from the one the teacher downloaded: its headers are in the site's language, and its times say
 * which grade is newer. Only grade and feedback are written; every other cell stays.
 */
import { guardCell, looksLikeFormula, readTable, writeTable } from "@markmill/csv";
import { formatPoints, type GradeSheet, statusOf } from "../grade-sheet.ts";
import type { ExportFindingCode } from "./export-codes.ts";
import { type Exported, type ExportFinding, refused } from "./export-finding.ts";
import { RowsByStudent } from "./match-rows.ts";

export interface MoodleOptions {
  readonly rescale?: boolean;
}

const headers = {
  identifier: ["identifier", "id", "identificador", "identifiant", "identificatore"],
  name: ["full name", "vollständiger name", "nombre completo", "nom complet", "cognome/nome"],
  email: ["email address", "e-mail-adresse", "dirección de correo", "adresse de courriel"],
  grade: ["grade", "bewertung", "calificación", "note", "valutazione"],
  most: ["maximum grade", "bestwertung", "calificación máxima", "note maximale", "valutazione massima"],
  feedback: [
    "feedback comments",
    "feedback als kommentar",
    "comentarios de retroalimentación",
    "feedback par commentaires",
  ],
  locked: ["grade can be changed", "bewertung kann geändert werden", "la calificación puede cambiarse"],
} as const;

export function toMoodle(sheet: GradeSheet, template: string, options: MoodleOptions = {}): Exported {
  const findings: ExportFinding[] = [];
  const note = (
    severity: "error" | "warning",
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
      "This is no grading worksheet of Moodle.",
      "In Moodle: the assignment, Submissions, Download grading worksheet.",
    );
    return refused(findings);
  }
  if (feedback < 0 && sheet.rows.some((row) => row.feedback !== "")) {
    note(
      "warning",
      "MOODLE_FEEDBACK",
      1,
      "The worksheet has no column for feedback, so none is written.",
      "Enable feedback comments in the assignment's settings.",
    );
  }
  const comma = body.some((row) => /^\d+,\d+$/.test((row.cells[most]?.text ?? row.cells[grade]?.text ?? "").trim()));
  const byStudent = new RowsByStudent(sheet.rows, ({ student }) => [student.id, student.email]);
  const out: string[][] = [texts];
  let written = 0;
  for (const row of body) {
    const cells = Array.from(
      { length: Math.max(texts.length, row.cells.length) },
      (_, index) => row.cells[index]?.text ?? "",
    );
    const id = cells[identifier]?.trim() ?? "";
    const name = cells[find("name")] ?? "";
    const bad = [id, name, cells[find("email")] ?? ""].find((text) => looksLikeFormula(text.trim()));
    if (bad !== undefined) {
      note(
        "error",
        "EXPORT_KEY_FORMULA",
        row.line,
        `"${bad.slice(0, 40)}" begins like a formula.`,
        "Correct it in Moodle and download again.",
      );
      continue;
    }
    const number = /(\d+)$/.exec(id)?.[1] ?? "";
    const found = byStudent.find([number, cells[find("email")] ?? ""], name);
    const total = found?.grade?.total ?? null;
    if (found !== null && total !== null) {
      const limit = most < 0 ? sheet.most : Number((cells[most] ?? "").trim().replace(",", "."));
      if (Number.isFinite(limit) && limit !== sheet.most && options.rescale !== true) {
        note(
          "error",
          "MOODLE_POINTS",
          row.line,
          `The rubric has ${sheet.most} points, the assignment in Moodle ${limit}.`,
          "Change one of the two, or ask for the grades to be rescaled.",
        );
        break;
      }
      const value = formatPoints(Number.isFinite(limit) ? (total * limit) / sheet.most : total, 2);
      if (locked >= 0 && isNo(cells[locked] ?? "")) {
        note(
          "warning",
          "MOODLE_LOCKED",
          row.line,
          `The grade of ${name || id} is locked; Moodle will skip it.`,
          "Unlock it in the gradebook.",
        );
      }
      cells[grade] = comma ? value.replace(".", ",") : value;
      if (feedback >= 0 && found.feedback !== "") cells[feedback] = guardCell(asHtml(found.feedback));
      written += 1;
    }
    out.push(cells);
  }
  for (const row of byStudent.left.filter((one) => one.grade !== null)) {
    note(
      "warning",
      "EXPORT_NO_ROW",
      null,
      `${row.student.name} (${statusOf(row)}) has no row in the worksheet and is left out.`,
      "Download the worksheet again if the student is in the course.",
    );
  }
  if (findings.some(({ severity }) => severity === "error")) return refused(findings);
  const bom = template.startsWith("\ufeff");
  return {
    ok: true,
    files: [{ name: "moodle.csv", text: writeTable(out, { separator, newline, bom }) }],
    written,
    findings,
  };
}

function isNo(text: string): boolean {
  return /^(?:no|nein|non|0)$/i.test(text.trim());
}

/** Moodle shows the comment as HTML. */
function asHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(/\r?\n/g, "<br>");
}
