/** Implements `export --check`: simulates the platform's import of the file before it is written, and reports the results. */
import type { ExportedFile } from "../export/export-finding.ts";
import type { ExportTarget } from "../export/export-grades.ts";
import { canvasBook, importCanvas } from "./canvas.ts";
import { classroomTotals } from "./classroom.ts";
import { gradescopeProblems } from "./gradescope.ts";
import { importMoodle, moodleBook } from "./moodle.ts";

export interface ExportCheck {
  /** Empty: the importer accepts the file as intended. */
  readonly problems: readonly string[];
  /** The number of cells or rows that the import changes. */
  readonly changes: number;
}

export function checkExport(to: ExportTarget, files: readonly ExportedFile[], template?: string): ExportCheck {
  switch (to) {
    case "canvas": {
      const book = canvasBook(template ?? "");
      const problems: string[] = [];
      let changes = 0;
      for (const { text } of files) {
        const first = importCanvas(book, text);
        const second = importCanvas(first.after, text);
        changes += first.changes.length;
        if (first.error !== null) problems.push(first.error);
        for (const title of first.newAssignments) problems.push(`would create the assignment ${title}`);
        for (const title of first.pointsChanged) problems.push(`would change the points of ${title}`);
        for (const name of first.newStudents) problems.push(`does not know ${name}`);
        if (second.changes.length > 0) problems.push("would change again when imported twice");
      }
      return { problems, changes };
    }
    case "gradescope":
      return {
        problems: files.flatMap(({ name, text }) => gradescopeProblems(text).map((problem) => `${name}: ${problem}`)),
        changes: files.length,
      };
    case "classroom": {
      const problems = files.flatMap(({ name, text }) => {
        const { table, notice } = classroomTotals(text);
        return Math.abs(table - notice) < 1e-9 ? [] : [`${name}: the table says ${table}, the notice ${notice}`];
      });
      return { problems, changes: files.length };
    }
    case "moodle": {
      const book = moodleBook(template ?? "");
      if (book === null)
        return { problems: ["the worksheet's language is not known here, so it cannot be checked"], changes: 0 };
      const problems: string[] = [];
      let changes = 0;
      for (const { text } of files) {
        const first = importMoodle(book, text, Number.MAX_SAFE_INTEGER);
        const second = importMoodle(first.after, text, Number.MAX_SAFE_INTEGER, true);
        changes += first.updates.length;
        if (first.error !== null) problems.push(first.error);
        // A row without a grade, or with an equal one, is skipped on purpose.
        for (const { id, why } of first.skipped)
          if (why !== "empty" && why !== "equal") problems.push(`would skip participant ${id} without a word: ${why}`);
        if (second.updates.length > 0) problems.push("would change again when imported twice");
      }
      return { problems, changes };
    }
    case "csv":
    case "json":
      return { problems: [], changes: 0 };
  }
}
