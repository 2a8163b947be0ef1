/**
 * Creates the files for `export --to X --template FILE`, and the findings that a person must see first. This code writes nothing to disk.
 */
import type { GradeSheet } from "../grade-sheet.ts";
import { type Exported, refused } from "./export-finding.ts";
import { type CanvasOptions, toCanvas } from "./to-canvas.ts";
import { toClassroom } from "./to-classroom.ts";
import { toCsv } from "./to-csv.ts";
import { toGradescope } from "./to-gradescope.ts";
import { toJson } from "./to-json.ts";
import { toMoodle } from "./to-moodle.ts";

export const exportTargets = ["canvas", "moodle", "gradescope", "classroom", "csv", "json"] as const;
export type ExportTarget = (typeof exportTargets)[number];

export function exportGrades(
  to: ExportTarget,
  sheet: GradeSheet,
  options: CanvasOptions & { readonly template?: string } = {},
): Exported {
  const { template } = options;
  switch (to) {
    case "canvas":
      return template === undefined ? templateMissing("Canvas", "the gradebook") : toCanvas(sheet, template, options);
    case "moodle":
      return template === undefined
        ? templateMissing("Moodle", "the grading worksheet")
        : toMoodle(sheet, template, options);
    case "gradescope":
      return toGradescope(sheet);
    case "classroom":
      return toClassroom(sheet);
    case "csv":
      return toCsv(sheet);
    case "json":
      return toJson(sheet);
  }
}

function templateMissing(platform: string, file: string): Exported {
  return refused([
    {
      severity: "error",
      code: "EXPORT_TEMPLATE",
      line: null,
      message: `The import into ${platform} needs its ids of students and assignments. Only its own file contains them.`,
      fix: `Export ${file} from ${platform} and pass it with --template.`,
    },
  ]);
}
