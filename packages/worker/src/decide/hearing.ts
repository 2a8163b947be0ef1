/** Decides whether a worker still receives jobs from its queues. The test is progress, not a live connection. */
import { QueueError, type QueueErrorCode } from "@markmill/queue";

/** If work is due for this time and no job arrives, the worker is stalled. */
export const stalledMs = 10_000;
/** A queue that does not answer may itself be unreachable. A new process would not help, so the worker waits longer for it. */
const awayMs = 30_000;
/** If leases could not be renewed for this time, this worker cannot reach the database. */
const stuckMs = 30_000;

export interface Hearing {
  /** How long work has been due in this queue. */
  readonly dueMs: number;
  readonly heardMsAgo: number;
  /** Number of running deliveries: a busy worker is not stalled. */
  readonly active: number;
  /** The state that the queue reports. A queue that is paused, or that answers but refuses writes, delivers no jobs to any worker. */
  readonly queue: "open" | "paused" | "refusing" | "away";
}

/**
 * A queue that refuses (its memory is full, it is a replica, it has no connection left) is reported as trouble of the queue. A new process
 * would not help.
 */
export function isStalled({ queue, ...hearing }: Hearing): boolean {
  return queue !== "paused" && queue !== "refusing" && isSilent(hearing);
}

const refusals: ReadonlySet<string> = new Set([
  "QUEUE_FULL",
  "QUEUE_READ_ONLY",
  "QUEUE_REFUSED",
  "QUEUE_BUSY",
  "QUEUE_SERVER_FAULT",
] satisfies QueueErrorCode[]);

/** `error`: the error of a queue that takes no jobs at this moment. */
export function afterProbe(error: unknown): "refusing" | "away" {
  return error instanceof QueueError && refusals.has(error.code) ? "refusing" : "away";
}

/** Work is due and no job arrives, whatever the reason. */
export function isSilent({ dueMs, heardMsAgo, active }: Omit<Hearing, "queue">): boolean {
  return dueMs > stalledMs && heardMsAgo > stalledMs && active === 0;
}

/**
 * A stalled queue gets new connections once. If it stays stalled after that, the process gives up and should be restarted.
 * `reconnectedMsAgo`: null if jobs arrived since, or if the queue was never stalled.
 */
export function afterListening(
  hearing: Hearing,
  reconnectedMsAgo: number | null,
): "hears" | "reconnect" | "wait" | "give up" {
  if (!isStalled(hearing)) return "hears";
  if (reconnectedMsAgo === null) return "reconnect";
  return reconnectedMsAgo > (hearing.queue === "away" ? awayMs : stalledMs) ? "give up" : "wait";
}

export interface Health {
  readonly ok: boolean;
  readonly active: number;
  readonly heardMsAgo: number;
  readonly dueMs: number;
  /** Queues with due work from which no job arrives. */
  readonly stalled: readonly string[];
  /** Time since the leases could be renewed, or since there were none. */
  readonly renewedMsAgo: number;
  /** The leases are so old that other workers may have taken over. */
  readonly leasesOld: boolean;
}

export function healthOf(hearings: ReadonlyMap<string, Hearing>, renewedMsAgo: number): Health {
  const all = [...hearings.values()];
  const stalled = [...hearings].filter(([, hearing]) => isStalled(hearing)).map(([queue]) => queue);
  return {
    ok: stalled.length === 0 && renewedMsAgo < stuckMs,
    active: all.reduce((sum, { active }) => sum + active, 0),
    heardMsAgo: Math.round(Math.min(...all.map(({ heardMsAgo }) => heardMsAgo))),
    dueMs: Math.max(0, ...all.map(({ dueMs }) => dueMs)),
    stalled,
    renewedMsAgo,
    leasesOld: renewedMsAgo >= stuckMs,
  };
}
