/** Whether a worker still hears its queues: answered by progress, not by being alive. */
import { QueueError, type QueueErrorCode } from "@markmill/queue";

/** Work due for so long while nothing is heard means that the worker is stalled. */
export const stalledMs = 10_000;
/** A queue that does not answer may be away itself, which no new process changes: it is given longer to come back. */
const awayMs = 30_000;
/** Leases that could not be renewed for so long mean that the database is out of this worker's reach. */
const stuckMs = 30_000;

export interface Hearing {
  /** For how long work has been due in this queue. */
  readonly dueMs: number;
  readonly heardMsAgo: number;
  /** Deliveries being handled: who is at work is not stalled. */
  readonly active: number;
  /** What the queue says of itself. Nobody hears anything from one that is paused, or that answers and refuses what is written. */
  readonly queue: "open" | "paused" | "refusing" | "away";
}

/** A queue that refuses (its memory is full, it is a replica, it has no connection left) is told as trouble of the queue, and no new process changes it. */
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

/** `error`: of a queue that takes no jobs at this moment. */
export function afterProbe(error: unknown): "refusing" | "away" {
  return error instanceof QueueError && refusals.has(error.code) ? "refusing" : "away";
}

/** Work is due and nothing is heard, whatever the reason. */
export function isSilent({ dueMs, heardMsAgo, active }: Omit<Hearing, "queue">): boolean {
  return dueMs > stalledMs && heardMsAgo > stalledMs && active === 0;
}

/**
 * A stalled queue gets new connections once. If it stays stalled for a while after that, the process gives up: it should be started anew.
 * `reconnectedMsAgo`: null where it hears since, or was never stalled.
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
  /** Queues that have work due and hear nothing. */
  readonly stalled: readonly string[];
  /** Leases could be renewed, or there were none. */
  readonly renewedMsAgo: number;
  /** For so long that other workers may have taken over. */
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
