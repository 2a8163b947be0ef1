/** The valid values of settings (MAX_COST, AI_TEMPERATURE and so on), as a parameter's default and as the value of a SET. */
import { limitSettingNames, longestMs } from "./limits.ts";
import { own } from "./own-value.ts";
import { modelSettingNames } from "./settings.ts";

export interface SettingProblem {
  readonly expected: string;
  readonly example: string;
}

interface Range {
  readonly of: string;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
  readonly written: RegExp;
}

/** Limits consist of digits with an optional fraction. */
const plainNumber = /^[ \t]*[0-9]+(?:\.[0-9]+)?[ \t]*$/;
/** Model settings may be negative or have an exponent. */
const anyNumber = /^\s*-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?\s*$/i;

const count: Range = {
  of: "a whole number",
  least: 1,
  most: Number.MAX_SAFE_INTEGER,
  whole: true,
  written: plainNumber,
};
const share = (of: string, least: number, most: number): Range => ({
  of,
  least,
  most,
  whole: false,
  written: anyNumber,
});
/** The highest dollar amount whose nanodollars are a safe integer. */
const mostDollars = 9_000_000;

const limitRanges: Readonly<Record<string, Range>> = {
  MAX_COST: { ...count, of: "dollars", least: 0, most: mostDollars, whole: false },
  MAX_DURATION: { ...count, of: "seconds", least: 0, most: longestMs / 1000, whole: false },
  // A depth of 0 means that the workflow may not call another workflow.
  MAX_CALL_DEPTH: { ...count, least: 0 },
};
const modelRanges: Readonly<Record<string, Range>> = {
  AI_TEMPERATURE: share("a number", 0, 2),
  AI_TOP_P: share("a number", 0, 1),
  AI_FREQUENCY_PENALTY: share("a number", -2, 2),
  AI_PRESENCE_PENALTY: share("a number", -2, 2),
  AI_MAX_OUTPUT_TOKENS: { ...count, written: anyNumber },
  AI_MAX_PROMPT_LENGTH: { ...count, written: anyNumber },
};

/** Returns null if the value is valid or the name is not a setting. */
export function settingProblem(name: string, value: string): SettingProblem | null {
  const isLimit = limitSettingNames.includes(name);
  // A blank value of a model setting counts as not set.
  if (!isLimit && (!Object.hasOwn(modelSettingNames, name) || value.trim() === "")) return null;
  const range = isLimit ? (own(limitRanges, name) ?? count) : own(modelRanges, name);
  if (range === undefined) return null;
  const number = range.written.test(value) ? Number(value) : Number.NaN;
  const fits = number >= range.least && number <= range.most && (!range.whole || Number.isInteger(number));
  if (fits) return null;
  const example = range.least <= 10 && range.most >= 10 ? "10" : "1";
  return { expected: `it takes ${range.of} from ${range.least} to ${range.most}, as a plain number`, example };
}
