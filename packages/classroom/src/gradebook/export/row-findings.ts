/** Builds the findings about rows and students that the platform's file leaves out, with the same texts for every platform. Pure. */
import { formatPoints, type GradeRow, statusOf } from "../grade-sheet.ts";
import type { ExportFinding } from "./export-finding.ts";
import type { KeyKind, RowDoubt, TemplateRow } from "./match-rows.ts";

const kindNames: Record<KeyKind, string> = {
  participant: "participant number",
  id: "id",
  sisId: "SIS id",
  login: "login",
  email: "e-mail address",
};

/** A row that may belong to a student and gets no grade. */
export function doubtFinding(row: TemplateRow, doubt: RowDoubt): ExportFinding {
  const concerned = doubt.is === "several students" ? doubt.students : [doubt.student];
  const severity = concerned.some(({ grade }) => grade?.total != null) ? "left out" : "warning";
  const common = { severity, line: row.line } as const;
  const called = row.name.trim() === "" ? "The row" : `The row of ${row.name.trim().slice(0, 60)}`;
  switch (doubt.is) {
    case "several students":
      return {
        ...common,
        code: "EXPORT_MATCH_SEVERAL",
        message: `${called} matches several students (${doubt.students.map(nameOf).join(", ")}) and does not change.`,
        fix: "Correct the keys in the roster or in the platform, so that the row matches one student.",
      };
    case "several rows":
      return {
        ...common,
        code: "EXPORT_MATCH_SEVERAL",
        message: `${nameOf(doubt.student)} matches several rows (lines ${doubt.lines.join(", ")}), which do not change.`,
        fix: "Correct the keys in the roster or in the platform, so that one row matches.",
      };
    case "other name":
      return {
        ...common,
        code: "EXPORT_MATCH_NAME",
        message: `${called} has a key of ${nameOf(doubt.student)}, but another name, and does not change.`,
        fix: "Correct the key or the name in the roster or in the platform.",
      };
    case "other key":
      return {
        ...common,
        code: "EXPORT_MATCH_KEY",
        message: `${called} has the name of ${nameOf(doubt.student)}, but another ${kindNames[doubt.kind]}, and does not change.`,
        fix: `If both are the same person, copy the platform's ${kindNames[doubt.kind]} into the roster.`,
      };
  }
}

/** A student with a grade and without a row. */
export function noRowFinding(row: GradeRow, file: string): ExportFinding {
  return {
    severity: row.grade?.total == null ? "warning" : "left out",
    code: "EXPORT_NO_ROW",
    line: null,
    message: `${nameOf(row)} (${statusOf(row)}) has no row in the ${file} and was skipped.`,
    fix: `If the student is in the course, download the ${file} again.`,
  };
}

/** A row with a key that a spreadsheet would compute. */
export function formulaFinding(line: number | null, key: string, student: string, fix: string): ExportFinding {
  return {
    severity: "left out",
    code: "EXPORT_KEY_FORMULA",
    line,
    message: `${student === "" ? "The row" : `The row of ${student.slice(0, 60)}`} was skipped: "${key.slice(0, 40)}" starts like a formula.`,
    fix,
  };
}

export function pointsFinding(
  code: "CANVAS_POINTS" | "MOODLE_POINTS",
  line: number | null,
  platform: string,
  most: number,
  given: string,
): ExportFinding {
  return {
    severity: "error",
    code,
    line,
    message: `The rubric has ${formatPoints(most)} points, but the assignment in ${platform} has ${given.trim() === "" ? "no maximum" : given.trim()}.`,
    fix: "Change one of the two, or scale the grades to the assignment's points with --rescale.",
  };
}

/** See R1 in rescale-points.ts. */
export function rescaleFinding(line: number | null, most: number, given: string): ExportFinding {
  return {
    severity: "error",
    code: "EXPORT_RESCALE",
    line,
    message: `Grades cannot be rescaled from ${formatPoints(most)} points to ${given.trim() === "" ? "an empty maximum" : `"${given.trim().slice(0, 40)}"`}.`,
    fix: "Give the rubric and the assignment a maximum above 0, or export without --rescale.",
  };
}

/** The name, and the key if it differs. */
function nameOf({ student }: GradeRow): string {
  return student.name === student.key ? student.name : `${student.name} (${student.key})`;
}

/** Two rows can cause the same finding about a student. It is reported once. */
export function onceEach(findings: readonly ExportFinding[]): readonly ExportFinding[] {
  const said = new Set<string>();
  return findings.filter(({ code, message }) => {
    const text = `${code} ${message}`;
    return !said.has(text) && said.add(text);
  });
}
