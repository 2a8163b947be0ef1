// Reads the `# Rubric` section of a Markdown file, which is a workflow or a separate file.
import { type Rubric, type RubricFindingCode, type RubricLine, readRubric } from "@markmill/grading";
import type { Finding } from "./finding.ts";
import type { FindingCode } from "./finding-codes.ts";
import { BlockScanner } from "./markdown/block-scanner.ts";
import { Report } from "./report.ts";

export function readRubricFile(
  text: string,
  file: string,
): { readonly rubric: Rubric | null; readonly findings: readonly Finding[] } {
  const report = new Report<FindingCode | RubricFindingCode>();
  const scanner = new BlockScanner();
  const lines: RubricLine[] = [];
  let heading: { file: string; line: number; column: number } | null = null;
  let inside = false;
  const near: string[] = [];
  for (const [index, row] of text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\n|\r/)
    .entries()) {
    const block = scanner.next(row);
    if (block.is === "heading" && block.level === 1) {
      inside = block.text.trim().toLowerCase() === "rubric";
      if (inside && heading !== null) {
        report.error(
          "RUBRIC_TWICE",
          { file, line: index + 1, column: block.column },
          "There are two rubrics.",
          "Remove one of them.",
        );
      }
      if (inside) heading ??= { file, line: index + 1, column: block.column };
      near.push(block.text);
    } else if (inside && block.is === "text") lines.push({ text: row, file, line: index + 1 });
  }
  if (heading === null) {
    const meant = near.find((one) => report.didYouMean(one, ["Rubric"]) !== "");
    report.error(
      "RUBRIC_MISSING",
      { file, line: 1, column: 1 },
      "The file has no section Rubric.",
      `${meant === undefined ? "" : `Did you mean "# Rubric" where it says "# ${meant.slice(0, 40)}"? `}Add a line \`# Rubric\` and the table below it.`,
    );
    return { rubric: null, findings: report.findings };
  }
  const rubric = readRubric(lines, heading, report);
  return { rubric: report.hasErrors ? null : rubric, findings: report.findings };
}
