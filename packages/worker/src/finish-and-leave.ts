/**
 * The end of a worker that gives up. It accepts no new jobs and finishes its activities: a reply that is not stored yet would be lost and
 * paid again.
 *
 * F1  After `giveUpAfterMs` the worker gives up its remaining activities. A request that was sent continues until its own limit
 *     (finish-requests.ts).
 * F2  If the process was asked to end, this function does not end it: the code that was asked closes the rest first.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Serving } from "@markmill/queue";

const lookMs = 100;

export interface Leaving {
  readonly servings: readonly Pick<Serving, "active" | "close">[];
  readonly giveUpAfterMs: number;
  readonly giveUp: () => void;
  /** Aborted: the process was asked to end. */
  readonly stopped: AbortSignal;
  readonly leave: () => void;
}

export async function finishAndLeave({ servings, giveUpAfterMs, giveUp, stopped, leave }: Leaving): Promise<void> {
  // Do not wait for this: an unreachable queue may never report that it is closed.
  for (const serving of servings) void serving.close();
  const late = setTimeout(giveUp, giveUpAfterMs);
  try {
    while (!stopped.aborted && servings.some((serving) => serving.active() > 0)) await pause(lookMs);
  } finally {
    clearTimeout(late);
  }
  if (!stopped.aborted) leave();
}
