/**
 * The only retry loop. The caller decides how long and for which failures it retries: a pure function of the failure and the number of
 * attempts.
 */
import { setTimeout as sleep } from "node:timers/promises";

export interface SoFar {
  /** Failed attempts, including this one. */
  readonly tries: number;
  /** Milliseconds since the first attempt began. */
  readonly ms: number;
}

/** After a failed attempt: how long to pause before the next one. null: throw the failure. */
export type Patience = (error: unknown, soFar: SoFar) => number | null;

/** An abort of `signal` ends the pause and leaves one more attempt. */
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

/** Errors of the store, the queue and other packages have the field `transient`: the same call may succeed later. */
export function mayPass(error: unknown): boolean {
  return error instanceof Error && "transient" in error && error.transient === true;
}
