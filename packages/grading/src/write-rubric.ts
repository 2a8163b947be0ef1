import { formatPoints } from "./points.ts";
import type { Criterion, Rubric, Source } from "./rubric.ts";

/**
 * Writes a rubric as the lines of its table. readRubric reads the same rubric back, unless a text contains characters that no cell can
 * hold.
 */
export function writeRubric({ criteria }: Rubric): readonly string[] {
  return [
    "| id | criterion | points | kind | evidence | source | guidance |",
    "|---|---|---|---|---|---|---|",
    ...criteria.map((criterion) => `| ${cellsOf(criterion).map(escaped).join(" | ")} |`),
  ];
}

function cellsOf({ id, title, points, scale, evidence, source, guidance }: Criterion): readonly string[] {
  const kind =
    scale.is === "binary"
      ? "binary"
      : scale.is === "points"
        ? `points in steps of ${formatPoints(scale.step)}`
        : `levels: ${scale.levels.map((level) => `${level.name}=${formatPoints(level.points)}`).join(", ")}`;
  const wanted = evidence === "comments" ? evidence : evidence ? "yes" : "no";
  return [id, title, formatPoints(points), kind, wanted, wordsOf(source), guidance];
}

function wordsOf(source: Source): string {
  return source.is === "tests" ? `tests: ${source.patterns.join(" ")}` : source.is;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}
