/**
 * For how long a main loop has been silent, as a thread beside it counts. Only time in which the thread itself was running counts: a process
 * that was stopped as a whole wakes up with a thread and a loop that were both silent, and neither is at fault.
 */
export interface LoopSilence {
  /** `tick`: another number whenever the loop has turned. Answers with milliseconds. */
  look(tick: bigint, now: number): number;
}

/** `mostMs`: what may lie between two looks. Anything beyond was a pause of the whole process. */
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
