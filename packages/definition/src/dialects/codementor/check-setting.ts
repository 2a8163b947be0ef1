/** Defaults of parameters that are settings (MAX_COST, AI_TEMPERATURE …), held against what the engine will accept. */
import { limitSettingNames } from "@markmill/engine";
import { modelSettings } from "../../names.ts";
import { LONGEST_MS, MOST_NANODOLLARS } from "../../quantity.ts";
import { settingNumber, settingsSchema } from "./front-matter.ts";

export interface SettingProblem {
  readonly expected: string;
  readonly example: string;
}

interface Range {
  readonly of: string;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
}

const count: Range = { of: "a whole number", least: 1, most: Number.MAX_SAFE_INTEGER, whole: true };
const ranges: ReadonlyMap<string, Range> = new Map(
  limitSettingNames.map((name) => {
    if (name === "MAX_COST") return [name, { of: "dollars", least: 0, most: MOST_NANODOLLARS / 1e9, whole: false }];
    if (name === "MAX_DURATION") return [name, { of: "seconds", least: 0, most: LONGEST_MS / 1000, whole: false }];
    // A depth of 0 is a workflow that may call no other.
    return [name, name === "MAX_CALL_DEPTH" ? { ...count, least: 0 } : count];
  }),
);

/** Limits take digits with an optional fraction, nothing else. */
const plainNumber = /^[ \t]*[0-9]+(?:\.[0-9]+)?[ \t]*$/;

/** null: the value is sound, or the name is no setting. */
export function settingProblem(name: string, value: string): SettingProblem | null {
  const range = ranges.get(name);
  if (range !== undefined) {
    const number = plainNumber.test(value) ? Number(value) : Number.NaN;
    const fits = number >= range.least && number <= range.most && (!range.whole || Number.isInteger(number));
    if (fits) return null;
    return { expected: `it takes ${range.of} from ${range.least} to ${range.most}, as a plain number`, example: "10" };
  }
  if (!Object.hasOwn(modelSettings, name)) return null;
  const setting = modelSettings[name];
  // A blank value is no setting at all.
  if (setting === undefined || setting === "model" || setting === "stop" || value.trim() === "") return null;
  const parsed = settingsSchema.shape[setting].safeParse(settingNumber(value) ?? value);
  if (parsed.success) return null;
  return { expected: parsed.error.issues[0]?.message ?? "it takes a number", example: "1" };
}
