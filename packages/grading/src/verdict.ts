/**
 * Defines the answer format for a model, and reads its answer. The model gives a mark per criterion with quotations, a confidence and a
 * comment. This file looks up, clamps and adds the points. A criterion without an answer is not graded, which is not the same as 0.
 */
import { z } from "zod";
import { checkEvidence, type Evidence } from "./evidence.ts";
import { isDeepJson } from "./is-deep-json.ts";
import { clampPoints, floorToStep, formatPoints } from "./points.ts";
import { repeatedKey } from "./repeated-key.ts";
import type { Criterion, Rubric } from "./rubric.ts";
import { neutralise } from "./show-work.ts";
import type { WorkFiles } from "./work-files.ts";

export interface Verdict {
  readonly criterion: string;
  readonly points: number;
  /** The name of the level, if the scale has levels. */
  readonly level: string | null;
  readonly evidence: readonly Evidence[];
  /** The model's own confidence, 0 to 1. */
  readonly confidence: number;
  readonly comment: string;
  /** Corrections: a mark beyond the scale, a wrong line number. */
  readonly notes: readonly string[];
}

export interface VerdictProblem {
  /** null: the problem concerns the whole answer. */
  readonly criterion: string | null;
  readonly problem: string;
}

export interface ReadVerdicts {
  readonly verdicts: readonly Verdict[];
  /** Empty: there is a verdict for each requested criterion. */
  readonly problems: readonly VerdictProblem[];
  readonly nextSteps: readonly string[];
}

const MOST_EVIDENCE = 10;
const MOST_NEXT_STEPS = 5;
/** Told of criteria that do not exist. */
const MOST_UNKNOWN = 30;
const LONGEST_COMMENT = 4_000;
const LONGEST_REPLY = 1_000_000;

export function criteriaForModel({ criteria }: Rubric): readonly Criterion[] {
  return criteria.filter(({ source }) => source.is === "llm");
}

/** JSON Schema of the answer. It is closed and every field is required, because providers with constrained output need that. */
export function verdictSchema(rubric: Rubric): Readonly<Record<string, unknown>> {
  const asked = criteriaForModel(rubric);
  const closed = (properties: Record<string, unknown>) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const evidence = {
    type: "array",
    description: "Quotations from the submission, copied letter by letter.",
    items: closed({ file: { type: "string" }, line: { type: "integer" }, quote: { type: "string" } }),
  };
  const criterion = (one: Criterion) =>
    closed({
      comment: { type: "string", description: "For the student: what was found, why it gets this mark." },
      evidence,
      ...markSchema(one),
      confidence: { type: "number", description: "From 0, a guess, to 1, certain." },
    });
  return closed({
    criteria: closed(Object.fromEntries(asked.map((one) => [one.id, criterion(one)]))),
    nextSteps: { type: "array", items: { type: "string" }, description: "At most three things to learn or do next." },
  });
}

function markSchema({ scale, points }: Criterion): Record<string, unknown> {
  switch (scale.is) {
    case "binary":
      return { met: { type: "boolean" } };
    case "levels":
      return { level: { type: "string", enum: scale.levels.map(({ name }) => name) } };
    case "points":
      return {
        points: {
          type: "number",
          description: `From ${formatPoints(Math.min(0, points))} to ${formatPoints(Math.max(0, points))}.`,
        },
      };
  }
}

/** Of a longer list only the first items: each that is not as asked makes an issue, and there can be hundreds of thousands. */
const first = (most: number) => (list: unknown) => (Array.isArray(list) ? list.slice(0, most) : list);

const answer = z.looseObject({
  criteria: z.record(z.string(), z.unknown()),
  // Empty ones are left out.
  nextSteps: z.preprocess(first(10 * MOST_NEXT_STEPS), z.array(z.string()).optional().catch([])),
});
const said = z.looseObject({
  comment: z.string(),
  evidence: z.preprocess(
    first(MOST_EVIDENCE),
    z.array(z.looseObject({ file: z.string(), line: z.number(), quote: z.string() })),
  ),
  confidence: z.number(),
});

export function readVerdicts(rubric: Rubric, reply: string, files: WorkFiles): ReadVerdicts {
  const asked = criteriaForModel(rubric);
  const whole = (problem: string): ReadVerdicts => ({
    verdicts: [],
    problems: [{ criterion: null, problem }],
    nextSteps: [],
  });
  const raw = findJson(reply);
  if (raw === null) return whole("the answer is not one JSON object that names each thing once");
  const read = answer.safeParse(raw);
  if (!read.success) return whole('the answer has no object "criteria"');
  const verdicts: Verdict[] = [];
  const problems: VerdictProblem[] = [];
  for (const criterion of asked) {
    const found = Object.hasOwn(read.data.criteria, criterion.id) ? read.data.criteria[criterion.id] : undefined;
    const verdict = readVerdict(criterion, found, files);
    if ("problem" in verdict) problems.push({ criterion: criterion.id, problem: verdict.problem });
    else verdicts.push(verdict);
  }
  // A mark for a criterion that tests or people grade is ignored. It is no reason to doubt the rest of the answer.
  const known = new Set(rubric.criteria.map(({ id }) => id));
  const unknown = Object.keys(read.data.criteria).filter((id) => !known.has(id));
  for (const id of unknown.slice(0, MOST_UNKNOWN))
    problems.push({ criterion: null, problem: `there is no criterion ${cut(id, 40)}` });
  const nextSteps = (read.data.nextSteps ?? []).map((step) => cut(step, 500)).filter((step) => step !== "");
  return { verdicts, problems, nextSteps: nextSteps.slice(0, MOST_NEXT_STEPS) };
}

function readVerdict(criterion: Criterion, found: unknown, files: WorkFiles): Verdict | { readonly problem: string } {
  if (found === undefined || found === null) return { problem: "is missing" };
  const read = said.safeParse(found);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { problem: `${issue?.path.join(".") || "the verdict"}: ${issue?.message ?? "is not as asked"}` };
  }
  const mark = readMark(criterion, read.data as Record<string, unknown>);
  if ("problem" in mark) return mark;
  const notes = [...mark.notes];
  const comment = cut(read.data.comment, LONGEST_COMMENT);
  if (comment === "") return { problem: "the comment is empty" };
  if (!Number.isFinite(read.data.confidence)) return { problem: "confidence is no number" };
  const confidence = Math.min(1, Math.max(0, read.data.confidence));
  if (confidence !== read.data.confidence) notes.push(`confidence was ${read.data.confidence}`);
  const evidence: Evidence[] = [];
  const wrong: string[] = [];
  for (const one of read.data.evidence) {
    const checked = checkEvidence(one, files, criterion.evidence === true ? "code" : "anywhere");
    if (!checked.ok) wrong.push(checked.problem);
    else {
      evidence.push(checked.evidence);
      if (checked.moved) notes.push(`${checked.evidence.file}:${one.line} stands in line ${checked.evidence.line}`);
    }
  }
  // A quotation that does not occur in the submission is invented, so the mark is refused.
  if (wrong[0] !== undefined) return { problem: wrong[0] };
  if (criterion.evidence !== false && mark.points !== 0 && evidence.length === 0) {
    return { problem: "points without a quotation from the submission" };
  }
  return { criterion: criterion.id, points: mark.points, level: mark.level, evidence, confidence, comment, notes };
}

/** Prepares text for people: no invisible characters, no characters that break a terminal or a database, and a bounded length. */
function cut(text: string, most: number): string {
  return neutralise(text.slice(0, 4 * most))
    .trim()
    .slice(0, most)
    .toWellFormed();
}

function readMark(
  criterion: Criterion,
  data: Readonly<Record<string, unknown>>,
):
  | { readonly points: number; readonly level: string | null; readonly notes: readonly string[] }
  | { readonly problem: string } {
  const { scale } = criterion;
  switch (scale.is) {
    case "binary":
      if (typeof data.met !== "boolean") return { problem: "met is neither true nor false" };
      return { points: data.met ? criterion.points : 0, level: data.met ? "met" : "not met", notes: [] };
    case "levels": {
      const name = typeof data.level === "string" ? data.level.trim().toLowerCase() : null;
      const level = scale.levels.find((one) => one.name.toLowerCase() === name);
      if (level === undefined) return { problem: `level is none of ${scale.levels.map((one) => one.name).join(", ")}` };
      return { points: clampPoints(level.points, criterion), level: level.name, notes: [] };
    }
    case "points": {
      if (typeof data.points !== "number" || !Number.isFinite(data.points)) return { problem: "points is no number" };
      const clamped = clampPoints(data.points, criterion);
      const points = floorToStep(clamped, scale.step, criterion.points);
      const notes = points === data.points ? [] : [`${data.points} points became ${formatPoints(points)}`];
      return { points, level: null, notes };
    }
  }
}

/**
 * Finds the JSON of a reply: the whole reply, its only code block, or the text between the outermost braces. With several code blocks the
 * answer is ambiguous.
 */
function findJson(reply: string): unknown {
  if (reply.length > LONGEST_REPLY) return null;
  const text = reply.trim();
  const whole = parsed(text);
  if (whole !== null) return whole;
  const blocks = codeBlocks(text).map(parsed);
  const objects = blocks.filter((one) => one !== null);
  if (blocks.length > 0) return objects.length === 1 ? objects[0] : null;
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")];
  return from < 0 || to < from ? null : parsed(text.slice(from, to + 1));
}

/** Returns the content of each closed code block. It reads the text once, however many blocks are opened. */
function codeBlocks(text: string): string[] {
  const lines = text.split("\n");
  const found: string[] = [];
  let from: number | null = null;
  for (const [index, line] of lines.entries()) {
    if (from === null) from = /^```(?:json)?[ \t]*$/.test(line) ? index + 1 : null;
    else if (/^```[ \t]*\r?$/.test(line)) {
      found.push(lines.slice(from, index).join("\n"));
      from = null;
    }
  }
  return found;
}

/** Returns null if the text is no object, or if it repeats a key: then it is unclear which value is meant. */
function parsed(text: string): unknown {
  try {
    if (isDeepJson(text) || repeatedKey(text) !== null) return null;
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The message that asks the model once to correct its answer. Problems that remain after it go to a person. */
export function repairMessage(problems: readonly VerdictProblem[]): string {
  const lines = problems
    .slice(0, 30)
    .map(({ criterion, problem }) => `- ${criterion === null ? "" : `${criterion}: `}${cut(problem, 300)}`);
  return [
    "Your answer cannot be used as it is:",
    ...lines,
    "",
    "Send the whole answer again as one JSON object of the form you were given, with nothing around it. Quote only what stands in",
    "the submission, letter by letter, with file and line. Where nothing can be quoted, give no points and say so in the comment.",
  ].join("\n");
}
