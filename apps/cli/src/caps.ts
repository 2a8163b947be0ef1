/** `--budget`, `--max-time` and `--max-tokens` as caps of a run. */
import { duration, money, readAmount } from "@markmill/definition";
import type { Limits } from "@markmill/engine";
import { parseCount } from "./amounts.ts";
import { UsageError } from "./command.ts";

export interface CapFlags {
  readonly budget?: string | undefined;
  readonly "max-time"?: string | undefined;
  readonly "max-tokens"?: string | undefined;
}

/** `--patience`: how long trouble of a model's endpoint is waited for. */
export function readPatience(text: string | undefined): number | undefined {
  return text === undefined ? undefined : read(text, duration, "--patience is a time");
}

export function readCaps(flags: CapFlags): Partial<Limits> {
  const { budget, "max-time": time, "max-tokens": count } = flags;
  const nanodollars = budget === undefined ? undefined : read(budget, money, "--budget is an amount of dollars");
  const timeMs = time === undefined ? undefined : read(time, duration, "--max-time is a time");
  const tokens = count === undefined ? undefined : parseCount(count);
  if (tokens === null) throw new UsageError(`--max-tokens is a whole number, not '${count}'.`);
  if (timeMs === 0) throw new UsageError("--max-time must be more than nothing.");
  return {
    ...(nanodollars === undefined ? {} : { nanodollars }),
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(tokens === undefined ? {} : { tokens }),
  };
}

function read(text: string, amount: Parameters<typeof readAmount>[0], what: string): number {
  const found = readAmount(amount, text);
  if (!found.ok) throw new UsageError(`${what}: ${found.problem}, not '${text}'.`);
  return found.value;
}
