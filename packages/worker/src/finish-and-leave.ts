/**
 * The end of a worker that gives up. It takes nothing new and finishes what it holds: a reply that is not stored yet would be lost and paid
 * again.
 *
 * F1  After `giveUpAfterMs` the worker gives up what it still holds. A request that has left goes on and ends by its own limit
 *     (finish-requests.ts).
 * F2  Once somebody asked the process to end, this does not end it: whoever was asked closes the rest first.
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
  // Not waited for: a queue that is away may never say that it is closed.
  for (const serving of servings) void serving.close();
  const late = setTimeout(giveUp, giveUpAfterMs);
  try {
    while (!stopped.aborted && servings.some((serving) => serving.active() > 0)) await pause(lookMs);
  } finally {
    clearTimeout(late);
  }
  if (!stopped.aborted) leave();
}
