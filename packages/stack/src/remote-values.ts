/** What every part of a store behind a server needs to say and to read. */
import { ApiProblem } from "@markmill/contract";
import type { Limits } from "@markmill/engine";

export async function unless404<Result>(ask: () => Promise<Result>): Promise<Result | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiProblem && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

export function toCaps(caps: Partial<Limits> = {}) {
  const { nanodollars, tokens, timeMs, steps, depth, hits } = caps;
  return {
    ...(nanodollars === undefined || nanodollars === null ? {} : { dollars: nanodollars / 1e9 }),
    ...(tokens === undefined || tokens === null ? {} : { tokens }),
    ...(timeMs === undefined || timeMs === null ? {} : { timeMs }),
    ...(steps === undefined ? {} : { steps }),
    ...(depth === undefined ? {} : { depth }),
    ...(hits === undefined ? {} : { hits }),
  };
}
