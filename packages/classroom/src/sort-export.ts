/** Groups an export into submissions by its layout. A Gradescope export lists its people in a separate file. */

import type { Finding, Place } from "@markmill/definition";
import { showName } from "@markmill/grading/submission";
import { plainCanvasNames } from "./canvas-resubmission.ts";
import type { IntakeOptions } from "./class-intake.ts";
import type { ExportSource } from "./export-source.ts";
import { type Layout, METADATA, type Sorted, sortCanvas, sortGradescope, sortMoodle, sortPlain } from "./layout.ts";

export async function sortExport(
  source: ExportSource,
  layout: Layout,
  tops: ExportSource["tops"],
  options: IntakeOptions,
  problems: Finding[],
  at: Place,
): Promise<Sorted> {
  switch (layout) {
    case "canvas": {
      const sorted = sortCanvas(tops);
      return { ...sorted, works: plainCanvasNames(sorted.works, options.requires ?? []) };
    }
    case "moodle":
      return sortMoodle(tops);
    case "plain":
      return sortPlain(tops, options.match);
    case "gradescope": {
      const read = await source.read(METADATA, { files: 1, bytes: 64 * 1024 * 1024 }).catch(() => null);
      const [file] = read?.entries ?? [];
      const sorted = file?.kind === "file" ? sortGradescope(tops, file.bytes.toString("utf8")) : null;
      for (const [folder, people] of sorted?.missing ?? [])
        problems.push({
          severity: "warning",
          code: "INTAKE_METADATA",
          message: `${METADATA} lists ${showName(folder)} of ${people.map(showName).join(", ")}, but the export does not contain it.`,
          fix: "Export the submissions again, or copy that folder next to the others.",
          at,
          about: folder,
        });
      if (sorted !== null) return sorted;
      problems.push({
        severity: "error",
        code: "INTAKE_METADATA",
        message: `${METADATA} is missing or has the wrong format, so the students of the submissions are unknown.`,
        fix: "Export the submissions again, or write `layout: plain` and match folders by name.",
        at,
      });
      return { works: [], strays: tops.map(({ name }) => name) };
    }
  }
}
