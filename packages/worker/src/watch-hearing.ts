/**
 * Notices that a worker no longer receives jobs although activities are due. It reconnects the queue once. If that does not help, the worker
 * finishes its activities and exits. The pure functions in decide/hearing.ts decide; this file asks the queues and the store.
 */
import type { Queues, Serving } from "@markmill/queue";
import { type Machine, oldestDue } from "@markmill/store/machine";
import { afterListening, afterProbe, type Hearing, isSilent, stalledMs } from "./decide/hearing.ts";
import type { Log } from "./log.ts";

export interface HearingParts {
  readonly store: Machine;
  readonly queues: Queues;
  readonly log: Log;
  /** The queues that the worker serves, by name. */
  readonly servings: ReadonlyMap<string, Serving>;
  /** Called once for a queue that gives no jobs even after a reconnect. */
  readonly giveUp: (queue: string) => Promise<void>;
}

export interface HearingWatch {
  hearingOf(queue: string, serving: Serving): Hearing;
  stop(): void;
}

export function watchHearing({ store, queues, log, servings, giveUp }: HearingParts): HearingWatch {
  /** Per queue: how long work has been due, and when that caused a reconnect, until a job arrives again. */
  const due = new Map<string, number>();
  const reconnected = new Map<string, number>();
  /** The last reported state of each queue. The worker asks only while no job arrives. */
  const said = new Map<string, Hearing["queue"]>();
  const hearingOf = (queue: string, serving: Serving): Hearing => ({
    dueMs: due.get(queue) ?? 0,
    heardMsAgo: performance.now() - serving.lastHeard(),
    active: serving.active(),
    queue: said.get(queue) ?? "open",
  });
  async function listen(): Promise<void> {
    for (const [queue, serving] of servings) {
      try {
        due.set(queue, await oldestDue(store.database, [queue]));
      } catch {
        return;
      }
      said.delete(queue);
      if (isSilent(hearingOf(queue, serving))) {
        said.set(queue, await whatSays(serving));
      }
      const at = reconnected.get(queue);
      const decided = afterListening(hearingOf(queue, serving), at === undefined ? null : performance.now() - at);
      if (decided === "give up") {
        clearInterval(listening);
        return await giveUp(queue);
      }
      if (decided === "hears") reconnected.delete(queue);
      if (decided !== "reconnect") continue;
      reconnected.set(queue, performance.now());
      log.warn(
        { queue, dueMs: due.get(queue) },
        "activities are due, but the queue delivers no jobs: connecting again",
      );
      serving.reconnect();
    }
  }
  async function whatSays(serving: Serving): Promise<Hearing["queue"]> {
    const paused = await serving.isPaused().catch(() => null);
    if (paused !== false) return paused === null ? "away" : "paused";
    return await queues.probe().then(() => "open" as const, afterProbe);
  }
  const listening = setInterval(() => void listen(), stalledMs / 2);
  return { hearingOf, stop: () => clearInterval(listening) };
}
