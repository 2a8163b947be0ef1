/** Reads the limits of a run that a person wrote, in the form of a workflow file. */
import type { Limits } from "@markmill/engine";
import { WrongInput } from "./wrong-input.ts";

export interface WrittenCaps {
  readonly budget?: string | undefined;
  readonly maxTime?: string | undefined;
  readonly maxTokens?: string | undefined;
  /** How long the run waits for a model endpoint in trouble. */
  readonly patience?: string | undefined;
}

export interface Caps {
  readonly caps: Partial<Limits>;
  readonly patienceMs: number | undefined;
}

/** `called` returns the caller's name of a field, for the message of a WrongInput. */
export async function readCaps(
  written: WrittenCaps,
  called: (field: keyof WrittenCaps) => string = (field) => field,
): Promise<Caps> {
  // Loaded on first use, because it loads the parsers of workflow files.
  const { duration, money, readAmount } = await import("@markmill/definition");
  const read = (field: keyof WrittenCaps, amount: typeof money | typeof duration, what: string): number | undefined => {
    const text = written[field];
    if (text === undefined) return undefined;
    const found = readAmount(amount, text);
    if (!found.ok) throw new WrongInput(`${called(field)} is ${what}: ${found.problem}, not '${text}'.`);
    return found.value;
  };
  const nanodollars = read("budget", money, "an amount of dollars");
  const timeMs = read("maxTime", duration, "a time");
  const tokens = written.maxTokens === undefined ? undefined : parseCount(written.maxTokens);
  if (tokens === null)
    throw new WrongInput(`${called("maxTokens")} must be a whole number, not '${written.maxTokens}'.`);
  if (timeMs === 0) throw new WrongInput(`${called("maxTime")} must be longer than 0.`);
  return {
    caps: {
      ...(nanodollars === undefined ? {} : { nanodollars }),
      ...(timeMs === undefined ? {} : { timeMs }),
      ...(tokens === undefined ? {} : { tokens }),
    },
    patienceMs: read("patience", duration, "a time"),
  };
}

/** Accepts `100_000` and `1,000`. null: not a count. */
export function parseCount(text: string): number | null {
  const plain = text.trim().replaceAll(/[_,]/g, "");
  return /^\d{1,15}$/.test(plain) ? Number(plain) : null;
}
