/** Marks the grades of a class before release: each unreleased one states that it is a draft, in every text that a platform shows. Pure. */
import type { GradeSheet } from "@markmill/classroom/gradebook";

const draftMark = "DRAFT - not released";

export function draftSheet(sheet: GradeSheet): GradeSheet {
  return {
    ...sheet,
    draft: true,
    rows: sheet.rows.map((row) =>
      row.release === "released" || row.feedback === "" ? row : { ...row, feedback: `${draftMark}\n${row.feedback}` },
    ),
  };
}
