/**
 * Measures how long a main loop has been silent, as seen by a thread beside it. Only time in which the thread itself was running counts:
 * after a pause of the whole process, both the thread and the loop were silent, and neither is at fault.
 */
export interface LoopSilence {
  /** `tick`: changes whenever the loop has turned. Returns milliseconds. */
  look(tick: bigint, now: number): number;
}

/** `mostMs`: the longest normal time between two calls. Any time beyond that was a pause of the whole process. */
export function createLoopSilence(mostMs: number): LoopSilence {
  let before: { readonly tick: bigint; readonly at: number } | null = null;
  let silentMs = 0;
  return {
    look(tick, now) {
      silentMs = before?.tick === tick ? silentMs + Math.min(now - before.at, mostMs) : 0;
      before = { tick, at: now };
      return silentMs;
    },
  };
}
