/** Whether a worker still hears its queues: answered by progress, not by being alive. */

/** Work due for so long while nothing is heard means that the worker is deaf. */
export const deafMs = 10_000;
/** Leases that could not be renewed for so long mean that the database is out of this worker's reach. */
const stuckMs = 30_000;

export interface Hearing {
  /** For how long work has been due in this queue. */
  readonly dueMs: number;
  readonly heardMsAgo: number;
  /** Deliveries being handled: who is at work is not deaf. */
  readonly active: number;
}

export function isDeaf({ dueMs, heardMsAgo, active }: Hearing): boolean {
  return dueMs > deafMs && heardMsAgo > deafMs && active === 0;
}

/** A deaf queue gets new connections once; one that stays deaf means that the process had better be started anew. */
export function afterListening(hearing: Hearing, reconnected: boolean): "hears" | "reconnect" | "give up" {
  if (!isDeaf(hearing)) return "hears";
  return reconnected ? "give up" : "reconnect";
}

export interface Health {
  readonly ok: boolean;
  readonly active: number;
  readonly heardMsAgo: number;
  readonly dueMs: number;
  /** Queues that have work due and hear nothing. */
  readonly deaf: readonly string[];
  /** Leases could be renewed, or there were none. */
  readonly renewedMsAgo: number;
}

export function healthOf(hearings: ReadonlyMap<string, Hearing>, renewedMsAgo: number): Health {
  const all = [...hearings.values()];
  const deaf = [...hearings].filter(([, hearing]) => isDeaf(hearing)).map(([queue]) => queue);
  return {
    ok: deaf.length === 0 && renewedMsAgo < stuckMs,
    active: all.reduce((sum, { active }) => sum + active, 0),
    heardMsAgo: Math.round(Math.min(...all.map(({ heardMsAgo }) => heardMsAgo))),
    dueMs: Math.max(0, ...all.map(({ dueMs }) => dueMs)),
    deaf,
    renewedMsAgo,
  };
}
