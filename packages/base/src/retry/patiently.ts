/** The one loop that tries again. How long, and for what, is a decision of its caller: a pure function of the failure and the tries. */
import { setTimeout as sleep } from "node:timers/promises";

export interface SoFar {
  /** That failed, this one included. */
  readonly tries: number;
  /** Since the first began. */
  readonly ms: number;
}

/** After a try that failed: how long to pause before the next one; null: the failure stands. */
export type Patience = (error: unknown, soFar: SoFar) => number | null;

/** An abort of `signal` ends the pause and leaves one more try. */
export async function patiently<Result>(
  act: () => Promise<Result>,
  patience: Patience,
  signal?: AbortSignal,
): Promise<Result> {
  const begun = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      const pauseMs = patience(error, { tries, ms: performance.now() - begun });
      if (pauseMs === null || signal?.aborted === true) throw error;
      await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }
}

/** Pauses that double, up to the longest. */
export function doubling(firstMs: number, longestMs: number): (soFar: SoFar) => number {
  return ({ tries }) => Math.min(firstMs * 2 ** (tries - 1), longestMs);
}

/** Errors of the edges say so themselves: the same may succeed later. */
export function mayPass(error: unknown): boolean {
  return error instanceof Error && "transient" in error && error.transient === true;
}
