import type { Operand } from "./operand.ts";
import type { NumberReading } from "./read-number.ts";

/**
 * equals, differs: trimmed first line of the left side against the trimmed right side. is, isNot: the whole texts.
 * greater … lessEqual: where the right side is a number, the left side's number (read-number.ts). A left side with two readings fails with
 * NUMBER_UNCLEAR, one without a number with CONDITION_NOT_NUMERIC. Else text by code point. includes: the left side holds the right side, to the letter. alike: the same without line breaks, case and
 * space around. above … atMost: numbers; where a side is none, nobody knows, and what asks fails with CONDITION_NOT_NUMERIC.
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
      /** Forgive emphasis, backticks, case and closing punctuation around a verdict. */
      readonly lenient?: true;
      /** Which number greater … lessEqual compare, and how it is written. */
      readonly numbers?: NumberReading;
    }
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: Condition }
  | { readonly op: "empty"; readonly left: Operand }
  | { readonly op: "in"; readonly left: Operand; readonly of: readonly Operand[] }
  /** How often a node has begun, against a number. */
  | { readonly op: "hits"; readonly node: string; readonly is: "greaterEqual" | "less"; readonly count: number };
