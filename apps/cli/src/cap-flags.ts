/** Reads `--budget`, `--max-time`, `--max-tokens` and `--patience`. */
import { type Caps, readCaps, type WrittenCaps } from "@markmill/stack";

const flags: Readonly<Record<keyof WrittenCaps, string>> = {
  budget: "--budget",
  maxTime: "--max-time",
  maxTokens: "--max-tokens",
  patience: "--patience",
};

export function readCapFlags(values: {
  readonly budget?: string | undefined;
  readonly "max-time"?: string | undefined;
  readonly "max-tokens"?: string | undefined;
  readonly patience?: string | undefined;
}): Promise<Caps> {
  const { budget, "max-time": maxTime, "max-tokens": maxTokens, patience } = values;
  return readCaps({ budget, maxTime, maxTokens, patience }, (field) => flags[field]);
}
