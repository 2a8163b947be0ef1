/** `--budget`, `--max-time` and `--max-tokens` as caps of a run. */
import type { Limits } from "@markmill/engine";
import { parseCount, parseDollars, parseDuration } from "./amounts.ts";
import { UsageError } from "./command.ts";

export interface CapFlags {
  readonly budget?: string | undefined;
  readonly "max-time"?: string | undefined;
  readonly "max-tokens"?: string | undefined;
}

export function readCaps(flags: CapFlags): Partial<Limits> {
  const read = (text: string | undefined, parse: (text: string) => number | null, wrong: string) => {
    const amount = text === undefined ? undefined : parse(text);
    if (amount === null) throw new UsageError(`${wrong}, not '${text}'.`);
    return amount;
  };
  const nanodollars = read(flags.budget, parseDollars, "--budget is an amount of dollars such as 0.50 or '$2'");
  const timeMs = read(flags["max-time"], parseDuration, "--max-time is a time such as 90s, 10m or 1h30m");
  const tokens = read(flags["max-tokens"], parseCount, "--max-tokens is a whole number");
  if (timeMs === 0) throw new UsageError("--max-time must be more than nothing.");
  return {
    ...(nanodollars === undefined ? {} : { nanodollars }),
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(tokens === undefined ? {} : { tokens }),
  };
}
