/**
 * The end of a worker that gives up. It takes nothing new and finishes what it holds: a reply that is not stored yet would be lost and paid
 * again. Each thing that it holds ends by a limit of its own.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Serving } from "@markmill/queue";

const lookMs = 100;

export async function finishAndLeave(
  servings: readonly Pick<Serving, "active" | "close">[],
  leave: () => void,
): Promise<void> {
  // Not waited for: a queue that is away may never say that it is closed.
  for (const serving of servings) void serving.close();
  while (servings.some((serving) => serving.active() > 0)) await pause(lookMs);
  leave();
}
