/**
 * Reads a rubric from a Markdown table:
 *
 *     | id | criterion | points | kind | evidence | source | guidance |
 *
 * kind      binary; levels: none=0, half=1, full=2; points, or points in steps of 0.5. The step must divide the points. The default
 *           is the largest of 1, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005 and 0.001 that divides them
 * evidence  yes, no, or comments (the judged text is in comments). Without this column, criteria judged by a model need evidence
 * source    tests (those named like the id), tests: median/* even*; llm; human
 */

import { defaultStep, formatPoints, readPoints, scalePoints, stepDivides } from "./points.ts";
import type { Criterion, Level, Rubric, Scale, Source } from "./rubric.ts";
import type { RubricFindingCode } from "./rubric-codes.ts";

export interface RubricLine {
  readonly text: string;
  readonly file: string;
  readonly line: number;
}

interface At {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Receives the findings. The collector of a definition's findings has this type. */
export interface RubricReport {
  readonly error: (code: RubricFindingCode, at: At, message: string, fix: string) => void;
  readonly warn: (code: RubricFindingCode, at: At, message: string, fix: string) => void;
  readonly didYouMean: (word: string, candidates: Iterable<string>) => string;
}

const columns = {
  id: ["id", "key"],
  criterion: ["criterion", "criteria", "title", "what"],
  points: ["points", "max", "max points", "weight"],
  kind: ["kind", "scale", "type"],
  evidence: ["evidence", "evidence required", "quote"],
  source: ["source", "by", "graded by"],
  guidance: ["guidance", "private guidance", "notes", "private"],
} as const;
type Column = keyof typeof columns;
const names = Object.keys(columns) as Column[];
const spellings = new Map<string, Column>(names.flatMap((name) => columns[name].map((text) => [text, name] as const)));
const MOST_CRITERIA = 100;

interface RubricCell {
  readonly text: string;
  readonly at: At;
}

/** Takes the lines of the section below its heading. Returns null if there are errors in the report. */
export function readRubric(lines: readonly RubricLine[], heading: At, report: RubricReport): Rubric | null {
  const rows = lines.filter(({ text }) => text.trim().startsWith("|")).map(cellsOf);
  const [header, rule, ...body] = rows;
  if (header === undefined || rule === undefined || !rule.every(({ text }) => /^:?-+:?$/.test(text))) {
    report.error(
      "RUBRIC_TABLE",
      heading,
      "The rubric has no table.",
      "Add a table: a line `| id | criterion | points |`, a line `|---|---|---|`, and a line for each criterion.",
    );
    return null;
  }
  const order = readHeader(header, report);
  if (order === null) return null;
  const criteria: Criterion[] = [];
  const seen = new Map<string, number>();
  const lost = lostRows(lines);
  for (const { text, file, line } of lost) {
    const column = text.length - text.trimStart().length + 1;
    report.error(
      "RUBRIC_ROW",
      { file, line, column },
      `"${text.trim().slice(0, 40)}" looks like a row of the table, but it does not start with a bar (|).`,
      "Start the row with | and keep it on one line. Write sentences below the table, after an empty line.",
    );
  }
  let failed = lost.length > 0;
  for (const row of body) {
    const criterion = readRow(row, order, report);
    if (criterion === null) {
      failed = true;
      continue;
    }
    const at = row[order.indexOf("id")]?.at ?? heading;
    const before = seen.get(criterion.id.toLowerCase());
    if (before !== undefined) {
      report.error(
        "RUBRIC_ID",
        at,
        `The id ${criterion.id} is already used in line ${before}.`,
        "Give each criterion its own id.",
      );
      failed = true;
    }
    seen.set(criterion.id.toLowerCase(), at.line);
    criteria.push(criterion);
  }
  if (body.length === 0 || body.length > MOST_CRITERIA) {
    report.error(
      "RUBRIC_EMPTY",
      heading,
      body.length === 0 ? "The rubric has no criteria." : `The rubric has more than ${MOST_CRITERIA} criteria.`,
      "Write one row for each criterion.",
    );
    return null;
  }
  if (failed) return null;
  if (!criteria.some(({ points }) => points > 0)) {
    report.error(
      "RUBRIC_POINTS",
      heading,
      "No criterion of this rubric gives points.",
      "Give at least one criterion points above 0.",
    );
    return null;
  }
  return { criteria };
}

/** Rows outside the table are an error. A criterion that is dropped silently would be worth nothing to every student. */
function lostRows(lines: readonly RubricLine[]): RubricLine[] {
  const isRow = ({ text }: RubricLine) => text.trim().startsWith("|");
  const body = lines.slice(lines.findIndex(isRow));
  const last = body.findLastIndex(isRow);
  const blank = body.findIndex(({ text }, index) => index > last && text.trim() === "");
  const end = blank < 0 ? body.length : blank;
  return body.filter((line, index) => {
    if (isRow(line)) return false;
    const bars = line.text.replaceAll(/\\.|`[^`]*`/g, "").split("|").length - 1;
    return bars >= (index < end ? 1 : 2);
  });
}

function readHeader(header: readonly RubricCell[], report: RubricReport): readonly (Column | null)[] | null {
  const order = header.map(
    ({ text }) =>
      spellings.get(
        text
          .toLowerCase()
          .replaceAll(/[^a-z]+/g, " ")
          .trim(),
      ) ?? null,
  );
  let failed = false;
  for (const [index, column] of order.entries()) {
    const { text, at } = header[index] ?? { text: "", at: { file: "", line: 1, column: 1 } };
    if (column === null) {
      report.error(
        "RUBRIC_COLUMN",
        at,
        `"${text.slice(0, 40)}" is not a column of a rubric.`,
        `${report.didYouMean(text, spellings.keys())}Known: ${names.join(", ")}.`,
      );
      failed = true;
    } else if (order.indexOf(column) !== index) {
      report.error("RUBRIC_COLUMN", at, `The column ${column} appears twice.`, "Remove one of them.");
      failed = true;
    }
  }
  for (const needed of ["id", "criterion", "points"] as const) {
    const [first] = header;
    if (order.includes(needed) || first === undefined) continue;
    report.error("RUBRIC_COLUMN", first.at, `The rubric has no column ${needed}.`, `Add ${needed} to the header.`);
    failed = true;
  }
  return failed ? null : order;
}

function readRow(
  row: readonly RubricCell[],
  order: readonly (Column | null)[],
  report: RubricReport,
): Criterion | null {
  const start = row[0]?.at ?? { file: "", line: 1, column: 1 };
  if (row.length > order.length) {
    report.error(
      "RUBRIC_CELLS",
      row[order.length]?.at ?? start,
      `The row has ${row.length} cells, but the header has ${order.length}.`,
      "Write \\| for a bar that is part of the text.",
    );
    return null;
  }
  const cell = (column: Column): RubricCell => row[order.indexOf(column)] ?? { text: "", at: start };
  const id = cell("id");
  if (!/^[a-z][a-z0-9_-]{0,39}$/i.test(id.text)) {
    report.error(
      "RUBRIC_ID",
      id.at,
      id.text === "" ? "The criterion has no id." : `${id.text.slice(0, 60)} is not a valid id.`,
      "Start with a letter; use only letters, digits, - and _, at most 40 characters.",
    );
    return null;
  }
  const title = cell("criterion");
  if (title.text === "") {
    report.error(
      "RUBRIC_CRITERION",
      title.at,
      `The criterion ${id.text} has no description.`,
      "Describe the criterion in one sentence.",
    );
    return null;
  }
  const points = readPoints(cell("points").text);
  if (points === null || points === 0) {
    report.error(
      "RUBRIC_POINTS",
      cell("points").at,
      `${id.text}: "${cell("points").text.slice(0, 20)}" is not a number of points.`,
      "Write a number such as 4 or 2.5; below zero for a deduction.",
    );
    return null;
  }
  const source = readSource(cell("source"), id.text, report);
  const scale = readScale(cell("kind"), points, id.text, report);
  if (source === null || scale === null) return null;
  const evidence = readEvidence(cell("evidence"), source, report);
  if (evidence === null) return null;
  return { id: id.text, title: title.text, points, scale, evidence, source, guidance: cell("guidance").text };
}

function readSource({ text, at }: RubricCell, id: string, report: RubricReport): Source | null {
  const [, word = "", rest = ""] = /^([^\s:]*)\s*:?\s*(.*)$/s.exec(text) ?? [];
  const name = word.toLowerCase();
  if (name === "" || name === "llm" || name === "model") return { is: "llm" };
  if (name === "human" || name === "person") return { is: "human" };
  if (name === "tests" || name === "test") {
    const patterns = rest
      .split(/[\s,]+/)
      .map((one) => one.replaceAll("`", ""))
      .filter((one) => one !== "");
    return { is: "tests", patterns: patterns.length > 0 ? patterns : [id, `${id}/*`, `${id}:*`, `${id} *`] };
  }
  report.error(
    "RUBRIC_SOURCE",
    at,
    `"${text.slice(0, 40)}" is not a source of a grade.`,
    `${report.didYouMean(word, ["tests", "test", "llm", "human"])}Known: tests, llm, human.`,
  );
  return null;
}

function readScale({ text, at }: RubricCell, points: number, id: string, report: RubricReport): Scale | null {
  const [, word = "", rest = ""] = /^([^\s:]*)\s*:?\s*(.*)$/s.exec(text) ?? [];
  switch (word.toLowerCase()) {
    case "":
    case "points": {
      if (rest === "") return { is: "points", step: defaultStep(points) };
      const step = readPoints(/^(?:in )?steps? (?:of )?(.+)$/i.exec(rest)?.[1] ?? "");
      if (step === null || step <= 0) {
        report.error(
          "RUBRIC_KIND",
          at,
          `${id}: "${rest.slice(0, 40)}" is not a valid step.`,
          "Write `points in steps of 0.5`.",
        );
        return null;
      }
      if (stepDivides(step, [points])) return { is: "points", step };
      report.error(
        "RUBRIC_STEP",
        at,
        `${id}: steps of ${formatPoints(step)} never reach ${formatPoints(points)} points, so no student could get full marks.`,
        `Write \`points in steps of ${formatPoints(defaultStep(points))}\`, or change the points to a multiple of ${formatPoints(step)}.`,
      );
      return null;
    }
    case "binary":
      return { is: "binary" };
    case "levels":
      return readLevels(rest, points, id, at, report);
    default:
      report.error(
        "RUBRIC_KIND",
        at,
        `"${text.slice(0, 40)}" is not a kind of criterion.`,
        `${report.didYouMean(word, ["binary", "levels", "points"])}Known: binary, levels, points.`,
      );
      return null;
  }
}

function readLevels(text: string, points: number, id: string, at: At, report: RubricReport): Scale | null {
  const levels: Level[] = [];
  const wrong = (message: string) => {
    report.error(
      "RUBRIC_LEVELS",
      at,
      `${id}: ${message}.`,
      `Write levels such as \`levels: none=0, half=${formatPoints(scalePoints(points, 1, 2))}, full=${formatPoints(points)}\`.`,
    );
    return null;
  };
  for (const part of text.split(/[,;]/).filter((one) => one.trim() !== "")) {
    const equals = part.lastIndexOf("=");
    const name = part.slice(0, Math.max(0, equals)).trim();
    const worth = readPoints(part.slice(equals + 1).trim());
    if (name === "" || name.includes("=") || worth === null)
      return wrong(`"${part.trim().slice(0, 40)}" is not a level`);
    if (levels.some((level) => level.name.toLowerCase() === name.toLowerCase())) return wrong(`${name} appears twice`);
    levels.push({ name, points: worth });
  }
  if (levels.length < 2) return wrong("it has fewer than two levels");
  const worths = levels.map((level) => level.points);
  if (Math.max(...worths.map(Math.abs)) !== Math.abs(points))
    return wrong(`no level is worth the ${formatPoints(points)} points`);
  if (worths.some((worth) => worth * Math.sign(points) < 0)) return wrong("a level has the wrong sign");
  return { is: "levels", levels };
}

function readEvidence({ text, at }: RubricCell, source: Source, report: RubricReport): Criterion["evidence"] | null {
  const word = text.toLowerCase();
  if (word === "") return source.is === "llm";
  if (["yes", "y", "true", "required", "x", "✓"].includes(word)) return true;
  if (["no", "n", "false", "-", "–"].includes(word)) return false;
  if (word === "comments" || word === "comment") return "comments";
  report.error(
    "RUBRIC_EVIDENCE",
    at,
    `"${text.slice(0, 40)}" is neither yes, no nor comments.`,
    "Write yes or no. Write comments if the criterion is about comments in the code.",
  );
  return null;
}

/** `\|` is a literal bar. */
function cellsOf({ text, file, line }: RubricLine): RubricCell[] {
  const cells: RubricCell[] = [];
  let from = text.indexOf("|") + 1;
  for (let at = from; at <= text.length; at += 1) {
    if (text[at] === "\\") {
      at += 1;
      continue;
    }
    if (at < text.length && text[at] !== "|") continue;
    const raw = text.slice(from, at);
    if (at < text.length || raw.trim() !== "") {
      const blank = raw.length - raw.trimStart().length;
      cells.push({ text: raw.trim().replaceAll("\\|", "|"), at: { file, line, column: from + blank + 1 } });
    }
    from = at + 1;
  }
  return cells;
}
