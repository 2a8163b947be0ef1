import type { Operand } from "./operand.ts";
import type { NumberReading } from "./read-number.ts";

/**
 * equals, differs: compare the trimmed first line of the left side with the trimmed right side.
 * is, isNot: compare the whole texts.
 * greater … lessEqual: if the right side is a number, compare it with the number in the left side (read-number.ts). A left side with two
 * readings fails with NUMBER_UNCLEAR, one without a number with CONDITION_NOT_NUMERIC. If the right side is not a number, compare both as
 * text by code point.
 * includes: the left side contains the exact right side.
 * alike: the same after removing line breaks, case and surrounding space.
 * above … atMost: compare numbers. If a side is not a number, the condition is undecided and its node fails with CONDITION_NOT_NUMERIC.
 */
export type Comparison =
  | "equals"
  | "differs"
  | "is"
  | "isNot"
  | "contains"
  | "matches"
  | "greater"
  | "greaterEqual"
  | "less"
  | "lessEqual"
  | "includes"
  | "alike"
  | "above"
  | "atLeast"
  | "below"
  | "atMost";

export type Condition =
  | {
      readonly op: Comparison;
      readonly left: Operand;
      readonly right: Operand;
      /** Ignore emphasis, backticks, case and closing punctuation around a verdict. */
      readonly lenient?: true;
      /** Which number greater … lessEqual compare, and how that number is written. */
      readonly numbers?: NumberReading;
    }
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: Condition }
  | { readonly op: "empty"; readonly left: Operand }
  | { readonly op: "in"; readonly left: Operand; readonly of: readonly Operand[] }
  /** Compares the number of times that a node has begun. */
  | { readonly op: "hits"; readonly node: string; readonly is: "greaterEqual" | "less"; readonly count: number };
