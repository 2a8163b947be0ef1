/**
 * Evaluates conditions. A missing value counts as empty text, and an invalid pattern matches nothing. Both are reported as doubts, so that
 * a person can see why an edge was taken. A text that is too long or a search that is too costly throws an Excess: no condition is decided
 * on a part of a text.
 */
import { containsText } from "@markmill/base/text";
import { briefText, Excess } from "./bounds.ts";
import type { Comparison, Condition } from "./condition.ts";
import { newEffort } from "./match-effort.ts";
import type { Operand } from "./operand.ts";
import { own } from "./own-value.ts";
import { type Effort, searchWithin } from "./pattern/search-within.ts";
import { isPlainNumber, looksNumeric, type NumberFound, type NumberReading, readNumber } from "./read-number.ts";
import { namedValue, type Resolved, resolve, type Scope } from "./resolve.ts";
import type { WarningCode } from "./warning-codes.ts";

export interface Verdict {
  readonly holds: boolean;
  readonly doubts: readonly Doubt[];
}

interface Doubt {
  readonly code: WarningCode;
  readonly message: string;
}

export function evaluateCondition(condition: Condition, scope: Scope): Verdict {
  const doubts: Doubt[] = [];
  const effort = scope.effort ?? newEffort();
  return { holds: holds(condition, { ...scope, effort }, doubts), doubts };
}

type Compared = Extract<Condition, { op: Comparison }>;

type Tried = Scope & { readonly effort: Effort };

function holds(condition: Condition, scope: Tried, doubts: Doubt[]): boolean {
  switch (condition.op) {
    case "and":
      return condition.of.every((part) => holds(part, scope, doubts));
    case "or":
      return condition.of.some((part) => holds(part, scope, doubts));
    case "not":
      return !holds(condition.of, scope, doubts);
    case "empty":
      return leftText(condition.left, scope, doubts).trim() === "";
    case "in": {
      const left = firstLine(leftText(condition.left, scope, doubts));
      return condition.of.some((right) => left === rightText(right, scope, doubts).trim());
    }
    case "hits": {
      const hits = own(scope.state.hits, condition.node) ?? 0;
      return condition.is === "less" ? hits < condition.count : hits >= condition.count;
    }
    default: {
      const left = leftText(condition.left, scope, doubts);
      const right = rightText(condition.right, scope, doubts);
      return compare(condition, left, right, doubts, scope.effort);
    }
  }
}

/** On the left side, a name without a value is an unset variable, not a literal. */
function leftText(operand: Operand, scope: Scope, doubts: Doubt[]): string {
  const resolved = resolve(operand, scope);
  if (operand.from === "name" && resolved.origin === "literal") {
    doubts.push({ code: "VARIABLE_UNSET", message: `${operand.name} has no value and counts as empty.` });
    return "";
  }
  return textOf(operand, resolved, doubts);
}

/** On the right side, an unquoted name is a variable or the literal word. A prompt with the same name is never used. */
function rightText(operand: Operand, scope: Scope, doubts: Doubt[]): string {
  if (operand.from === "name") return namedValue(operand.name, scope) ?? operand.name;
  return textOf(operand, resolve(operand, scope), doubts);
}

function textOf(operand: Operand, resolved: Resolved, doubts: Doubt[]): string {
  if (operand.from === "file" && resolved.text === null) {
    doubts.push({ code: "FILE_MISSING", message: `The file '${operand.path}' was not found and counts as empty.` });
  }
  return resolved.text ?? "";
}

function compare(
  { op, lenient, numbers }: Compared,
  left: string,
  right: string,
  doubts: Doubt[],
  effort: Effort,
): boolean {
  switch (op) {
    case "equals":
    case "differs": {
      const same = lenient === true ? verdictOf(left) === verdictOf(right) : firstLine(left) === right.trim();
      return same === (op === "equals");
    }
    case "is":
      return left === right;
    case "isNot":
      return left !== right;
    case "contains":
      return containsText(left, right.trim());
    case "matches": {
      const searched = searchWithin(right, left, effort);
      if (searched === null) {
        const what = `MATCHES '${briefText(right, 200)}' on ${left.length} characters`;
        throw new Excess("MATCH_TOO_COSTLY", `${what} exceeds the limit for one step. Simplify the pattern.`);
      }
      if ("found" in searched) return searched.found;
      doubts.push({ code: "PATTERN_INVALID", message: `'${briefText(right, 200)}': ${searched.refused}` });
      return false;
    }
    case "includes":
      return containsText(left, right);
    case "alike":
      return plain(left) === plain(right);
    case "above":
      return numberIn(left) > numberIn(right);
    case "atLeast":
      return numberIn(left) >= numberIn(right);
    case "below":
      return numberIn(left) < numberIn(right);
    case "atMost":
      return numberIn(left) <= numberIn(right);
    case "greater":
      return order(left, right, numbers, doubts) > 0;
    case "greaterEqual":
      return order(left, right, numbers, doubts) >= 0;
    case "less":
      return order(left, right, numbers, doubts) < 0;
    case "lessEqual":
      return order(left, right, numbers, doubts) <= 0;
  }
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return (end === -1 ? text : text.slice(0, end)).trim();
}

/** A longer first line is not a verdict. This bound also keeps searches in text of unknown origin short. */
const longestVerdict = 200;

/** Returns the first non-blank line in upper case, without one layer of emphasis, quotes or closing punctuation. */
function verdictOf(text: string): string {
  let line = firstLine(text.trimStart());
  if (line.length > longestVerdict) return line;
  line = line
    .replace(/^#{1,6} /, "")
    .replace(/[.!:,;]+$/, "")
    .trim();
  for (const mark of ["**", "__", "*", "_", "`", '"', "'"]) {
    if (line.length > 2 * mark.length && line.startsWith(mark) && line.endsWith(mark)) {
      line = line.slice(mark.length, -mark.length);
      break;
    }
  }
  return line
    .replace(/[.!:,;]+$/, "")
    .trim()
    .toUpperCase();
}

function plain(text: string): string {
  return text
    .trim()
    .replace(/[\r\n]/g, "")
    .toLowerCase();
}

/** Thrown when a condition cannot be decided. */
export class Undecided extends Excess {}

function numberIn(text: string): number {
  if (!isPlainNumber(text)) throw notNumeric(text);
  const found = readNumber(text);
  if (found.is === "number") return found.value;
  throw unclear(text, found, []);
}

/** Compares numbers if the right side is a number; otherwise compares text by code point. */
function order(left: string, right: string, how: NumberReading | undefined, doubts: Doubt[]): number {
  const limit = rightNumber(right, how);
  if (limit === null) return orderByCodePoint(left, right);
  const found = readNumber(left, how);
  switch (found.is) {
    case "number":
      if (!found.alone)
        doubts.push({
          code: "NUMBER_EXTRACTED",
          message: `Compared the number ${found.written} found in the first line.`,
        });
      return found.value - limit;
    case "none":
      throw notNumeric(left);
    case "unclear":
      throw unclear(left, found, settings);
  }
}

/** Returns null if the right side is not a number. The whole text must be the number. */
function rightNumber(text: string, how: NumberReading | undefined): number | null {
  const decimal = how?.decimal;
  if (!(decimal !== "comma" && isPlainNumber(text)) && !looksNumeric(text)) return null;
  const found = readNumber(text, decimal === undefined ? {} : { decimal });
  if (found.is === "number") return found.value;
  throw unclear(text, found, decimals);
}

const decimals: readonly NumberReading[] = [{ decimal: "point" }, { decimal: "comma" }];
const settings: readonly NumberReading[] = [
  ...decimals,
  ...(["first", "last"] as const).flatMap((which) => [{ which }, ...decimals.map((one) => ({ ...one, which }))]),
];

/** `settings`: the settings that would let the CHECK accept such a number. */
function unclear(
  text: string,
  found: Exclude<NumberFound, { is: "number" }>,
  settings: readonly NumberReading[],
): Undecided {
  const shown = briefText(text, 200);
  const why = found.is === "unclear" ? found.why : "it contains no number";
  const settle = settings.some((how) => readNumber(text, how).is === "number")
    ? "Set number: last (first, 2) or decimal: comma (point) on the CHECK, or let the text be only a number."
    : "No setting of the CHECK can decide this. Let the text be one plain number.";
  return new Undecided("NUMBER_UNCLEAR", `'${shown}' is compared as a number, but ${why}. ${settle}`);
}

function notNumeric(text: string): Undecided {
  return new Undecided(
    "CONDITION_NOT_NUMERIC",
    `'${briefText(text, 200)}' is compared as a number, but it is not a number.`,
  );
}

function orderByCodePoint(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    // Surrogates sort below U+E000…U+FFFF as code units, but above them as code points.
    return rank(a) - rank(b);
  }
  return left.length - right.length;
}

/** Ranks surrogates, which represent code points above U+FFFF, after all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
