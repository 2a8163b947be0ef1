/**
 * Limits the size of the data that a run holds. Models, students and authors write these texts. A template with 600 placeholders, or a
 * variable that doubles with each loop, can turn one megabyte into more than a process can hold.
 *
 * Z1  The length of a text is computed before the text is built. A text that is too long is never built.
 * Z2  Lengths are UTF-16 units, which are the same on every machine. A replay reaches the same bound at the same event.
 * Z3  If something exceeds a bound, only the current activity fails, with the bound's code. Its changes are undone (`within`, walk.ts).
 */
import type { Work } from "./activity.ts";
import type { Outcome } from "./event.ts";
import { type Failure, type FailureCode, failure } from "./failure.ts";
import type { Json } from "./program.ts";
import type { Held, RunState } from "./state.ts";

export interface Bounds {
  /** Limit for one rendered text, variable, list item, reply or transcript. */
  readonly valueCharacters: number;
  /** Limit for the whole state of a run; and, separately, for all work that one step requests. */
  readonly stateCharacters: number;
}

export const defaultBounds: Bounds = { valueCharacters: 2 * 1024 * 1024, stateCharacters: 8 * 1024 * 1024 };

/** Thrown when a value would exceed a bound. Only `within` catches it. */
export class Excess extends Error {
  readonly failure: Failure;

  constructor(code: FailureCode, message: string) {
    super(message);
    this.failure = failure(code, message);
  }
}

const excessCodes: ReadonlySet<string> = new Set<FailureCode>([
  "VALUE_TOO_LONG",
  "STATE_TOO_LONG",
  "MATCH_TOO_COSTLY",
  "NUMBER_UNCLEAR",
  "CONDITION_NOT_NUMERIC",
]);

/** A check that failed with one of these codes is neither true nor false, so it takes no edge. */
export function isExcess(code: string): boolean {
  return excessCodes.has(code);
}

/** Throws if a text of this length may not be built or kept. */
export function allow(length: number, bounds: Bounds, what: string): void {
  if (length <= bounds.valueCharacters) return;
  const most = bounds.valueCharacters;
  throw new Excess("VALUE_TOO_LONG", `${what} would have ${length} characters; at most ${most} are allowed.`);
}

export function allowState(weight: number, bounds: Bounds, what: string): void {
  if (weight <= bounds.stateCharacters) return;
  const most = bounds.stateCharacters;
  throw new Excess("STATE_TOO_LONG", `${what} would have ${weight} characters; at most ${most} are allowed.`);
}

/** Shortens a message of unknown origin so that it fits into a variable, an event and a screen. */
const longestMessage = 4_000;

export function brief(why: Failure): Failure {
  return why.message.length <= longestMessage && why.code.length <= 100
    ? why
    : { code: why.code.slice(0, 100), message: briefText(why.message) };
}

export function briefText(text: string, most = longestMessage): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more characters)`;
}

/** Characters that JSON adds around a text. */
const around = 4;
/** Characters for the numbers and names of an activity. */
const bare = 200;

function weighRecord(record: Readonly<Record<string, string>>): number {
  let weight = 0;
  for (const name in record) weight += name.length + (record[name]?.length ?? 0) + 2 * around;
  return weight;
}

function weighTexts(texts: readonly string[]): number {
  let weight = around * texts.length;
  for (const text of texts) weight += text.length;
  return weight;
}

/**
 * Estimates the characters of a state's JSON. Hits and tokens are left out because the program bounds them.
 * Cost: under a microsecond for a run with a few variables.
 */
export function weighState(state: RunState): number {
  let weight = weighRecord(state.variables) + weighRecord(state.environment) + weighRecord(state.threads);
  weight += weighTexts(state.assigned) + weighSplices(state.spliced) + weighPhase(state.phase);
  for (const name in state.lists) weight += name.length + weighTexts(state.lists[name] ?? []);
  for (const key in state.active) {
    const active = state.active[key];
    if (active !== undefined) weight += weighActive(active);
  }
  for (const held of state.held) weight += weighActive(held.active) + weighSettled(held);
  for (const key in state.maps) {
    const map = state.maps[key];
    if (map === undefined) continue;
    weight += weighTexts(map.items);
    for (const result of map.results) weight += resultWeight(result);
  }
  return weight;
}

function weighPhase(phase: RunState["phase"]): number {
  const handling = phase.is === "handling" ? phase : phase.is === "stopped" && phase.was !== "doing" ? phase.was : null;
  return handling === null ? 0 : handling.ended.result.length + handling.ended.RESULT.length;
}

function resultWeight(result: RunState["maps"][string]["results"][number]): number {
  if (result === null) return around;
  return 4 * around + ("ok" in result ? result.ok.length : result.error.length);
}

function weighActive(active: RunState["active"][string]): number {
  let weight = bare + weighRecord(active.reads) + (active.said?.text?.length ?? 0);
  for (const taken of active.taken) weight += weighTexts(taken.items);
  return weight;
}

function weighSettled(held: Held): number {
  return "failure" in held ? held.failure.message.length : weighOutcome(held.outcome);
}

const splices = new WeakMap<object, number>();

function weighSplices(spliced: RunState["spliced"]): number {
  if (spliced.edges.length === 0 && spliced.gone.length === 0) return 0;
  let weight = splices.get(spliced);
  if (weight === undefined) {
    weight = JSON.stringify(spliced).length;
    splices.set(spliced, weight);
  }
  return weight;
}

/** Weighs all texts of an outcome. */
function weighOutcome(outcome: Outcome): number {
  return weighTexts("notes" in outcome ? (outcome.notes ?? []) : []) + weighWhat(outcome);
}

function weighWhat(outcome: Outcome): number {
  switch (outcome.kind) {
    case "done":
      return weighRecord(outcome.files ?? {});
    case "replied":
      return outcome.text.length + (outcome.said?.length ?? 0);
    case "graded":
      return outcome.text.length + JSON.stringify(outcome.grade).length;
    case "planned":
      return outcome.text.length + JSON.stringify(outcome.fragment).length;
    case "called":
      return outcome.calls.reduce((sum, { variables }) => sum + bare + weighRecord(variables), 0);
    case "returned":
      return outcome.result.length + weighRecord(outcome.variables) + (outcome.reason?.message.length ?? 0);
    default:
      return outcome.text.length;
  }
}

/** Returns why an outcome must be refused, or null. The worker checks before it stores the outcome, and the engine before it folds it. */
export function outcomeExcess(outcome: Outcome, bounds: Bounds): Failure | null {
  try {
    const texts = textsOf(outcome);
    for (const [what, text] of texts) allow(text.length, bounds, what);
    allowState(weighOutcome(outcome), bounds, "The result");
    return null;
  } catch (error) {
    // If the outcome lacks its texts, the worker made a mistake.
    return error instanceof Excess ? error.failure : failure("OUTCOME_INVALID");
  }
}

function textsOf(outcome: Outcome): readonly (readonly [string, string])[] {
  switch (outcome.kind) {
    case "done":
      return Object.entries(outcome.files ?? {}).map(([path, text]) => [`The file '${briefText(path, 200)}'`, text]);
    case "called":
      return outcome.calls.flatMap(({ variables }) =>
        Object.entries(variables).map(([name, text]) => [`The argument ${briefText(name, 200)}`, text] as const),
      );
    case "returned":
      return [
        ["The result of the called workflow", outcome.result],
        ...Object.entries(outcome.variables).map(
          ([name, text]) => [`The variable ${briefText(name, 200)}`, text] as const,
        ),
      ];
    case "replied":
      return [
        ["The reply", outcome.text],
        ["The text that was sent", outcome.said ?? ""],
      ];
    case "executed":
      return [
        ["The transcript", outcome.text],
        ["The test results", outcome.tests ?? ""],
      ];
    case "answered":
      return [["The answer", outcome.text]];
    case "graded":
      return [
        ["The summary of the grade", outcome.text],
        ["The grade", JSON.stringify(outcome.grade)],
      ];
    default:
      return [["The result", outcome.text]];
  }
}

export function weighWork(work: Work): number {
  switch (work.kind) {
    case "call":
      return bare + weighRecord(work.start.variables) + weighRecord(work.start.threads);
    case "set":
      return bare + (work.write?.text.length ?? 0);
    case "tool":
      return bare + work.arguments.length;
    case "prompt":
      return (
        bare +
        work.text.length +
        weighTexts((work.opening ?? []).map(({ text }) => text)) +
        weighTexts(work.settings.stop ?? []) +
        (work.settings.model?.length ?? 0)
      );
    case "grade":
      return bare + work.task.length + weighRecord(work.given) + (work.tests?.length ?? 0) + rubricWeight(work.rubric);
    case "check":
      return bare + weighTexts(work.read);
    case "assign":
      return bare;
    default:
      return bare + work.text.length;
  }
}

/** The cache works because the program's rubric is the same object at each visit. */
const rubrics = new WeakMap<object, number>();

function rubricWeight(rubric: Json): number {
  if (typeof rubric !== "object" || rubric === null) return bare;
  const known = rubrics.get(rubric) ?? JSON.stringify(rubric).length;
  rubrics.set(rubric, known);
  return known;
}

/** Returns the length of `JSON.stringify(text)` without building that text. */
export function jsonLength(text: string): number {
  let length = text.length + 2;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22 || unit === 0x5c) length += 1;
    else if (unit < 0x20) length += unit === 8 || unit === 9 || unit === 10 || unit === 12 || unit === 13 ? 1 : 5;
    else if (unit >= 0xd800 && unit <= 0xdfff) {
      const paired = unit < 0xdc00 && isLow(text.charCodeAt(at + 1));
      if (paired) at += 1;
      else length += 5;
    }
  }
  return length;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
