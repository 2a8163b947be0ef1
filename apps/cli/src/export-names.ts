/** Builds the names of exported files: a draft has its own name, and no export has the name of the teacher's own files. Pure. */
import { type ExportTarget, fileNameOf, type GradeSheet } from "@markmill/classroom/gradebook";

const plain: Record<ExportTarget, string> = {
  canvas: "canvas.csv",
  moodle: "moodle.csv",
  gradescope: "gradescope",
  classroom: "classroom",
  csv: "grades.csv",
  json: "grades.json",
};

/** `besideResults`: the folder contains the teacher's grades.csv and grades.json. */
export function exportNames(
  to: ExportTarget,
  { draft, besideResults }: { readonly draft: boolean; readonly besideResults: boolean },
): string {
  if (draft) return `draft-${plain[to]}`;
  return besideResults && (to === "csv" || to === "json") ? `released-${plain[to]}` : plain[to];
}

/** The files that an export can consist of, even if a student has no file now. */
export function namesOfAll(to: ExportTarget, named: string, { rows }: GradeSheet): readonly string[] {
  switch (to) {
    case "gradescope":
      return rows.map(({ student }) => `${named}/${fileNameOf(student.key)}/results.json`);
    case "classroom":
      return rows.map(({ student }) => `${named}/${fileNameOf(student.key)}.json`);
    default:
      return [named];
  }
}
