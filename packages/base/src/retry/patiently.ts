/** The one retry loop. Its caller decides how long and for which errors: a pure function of the failure and the number of tries. */
import { setTimeout as sleep } from "node:timers/promises";

export interface SoFar {
  /** The number of failed tries, including this one. */
  readonly tries: number;
  /** Milliseconds since the first try began. */
  readonly ms: number;
}

/** Called after a failed try. Returns the pause before the next try; null: give up with this failure. */
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

/** Whether the same action may succeed later. Errors of the edge packages carry this mark. */
export function mayPass(error: unknown): boolean {
  return error instanceof Error && "transient" in error && error.transient === true;
}
