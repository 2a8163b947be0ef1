/**
 * The supervisor: makes sure that nothing waits for ever. Several may run; one acts, the others stand by (advisory lock).
 *
 * U1  It holds no state: every look starts from rows, by the database's clock, and doing it twice is harmless.
 * U2  What is ready and quiet is rung again only if the queue has lost it, under a new job id, so a long backlog is not doubled.
 *
 * kill -9 between any two lines: the next look, by this or another supervisor, finds the same rows.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { jobId, type Queues } from "@markmill/queue";
import {
  buryWorkers,
  deleteOldRuns,
  enforceDeadlines,
  expireAsks,
  leaveQuiet,
  quietActivities,
  ringAgain,
  type Store,
  withLeadership,
} from "@markmill/store";

export interface SupervisorParts {
  readonly store: Store;
  readonly queues: Queues;
  readonly log: Log;
  /** 0 keeps finished runs. */
  readonly retentionDays: number;
  readonly lookMs?: number;
  /** An activity that is ready and was not rung for so long is looked for in the queue. */
  readonly quietMs?: number;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RunningSupervisor {
  health(): { readonly ok: boolean; readonly leads: boolean; readonly lookedMsAgo: number };
  stop(): Promise<void>;
}

const defaultLookMs = 500;
const defaultQuietMs = 3_000;
/** Three heartbeats missed. */
const silentMs = 10_000;
const dayMs = 86_400_000;
const deleteEveryMs = 10 * 60_000;

export function startSupervisor(parts: SupervisorParts): RunningSupervisor {
  const { store, queues, log } = parts;
  const lookMs = parts.lookMs ?? defaultLookMs;
  const quietMs = parts.quietMs ?? defaultQuietMs;
  const stopping = new AbortController();
  let leads = false;
  let looked = performance.now();
  let deletedAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const rings = [...(await enforceDeadlines(store)), ...(await expireAsks(store))];
    await queues.ring(rings);
    await ringLost();
    const dead = await buryWorkers(store.database, silentMs);
    if (dead.length > 0) log.warn({ workers: dead }, "workers were lost");
    if (parts.retentionDays > 0 && performance.now() - deletedAt > deleteEveryMs) {
      deletedAt = performance.now();
      const deleted = await deleteOldRuns(store.database, parts.retentionDays * dayMs);
      if (deleted > 0) log.info({ deleted }, "old runs were deleted");
    }
  }

  /** U2. */
  async function ringLost(): Promise<void> {
    const quiet = await quietActivities(store.database, quietMs);
    if (quiet.length === 0) return;
    const live = await queues.live(quiet);
    const lost = quiet.filter((ring) => !live.has(jobId(ring)));
    await leaveQuiet(
      store.database,
      quiet.filter((ring) => live.has(jobId(ring))),
    );
    if (lost.length === 0) return;
    await queues.ring(await ringAgain(store.database, lost));
    log.info({ count: lost.length }, "rang again what the queue had lost");
  }

  async function lead(lost: AbortSignal): Promise<void> {
    leads = true;
    log.info({}, "this supervisor leads");
    while (!stopping.signal.aborted && !lost.aborted) {
      try {
        await look();
      } catch (error) {
        log.warn({ err: error }, "a look failed");
      }
      looked = performance.now();
      await pause(lookMs);
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await withLeadership(store.database, lead);
      } catch (error) {
        log.warn({ err: error }, "leadership was lost");
      }
      leads = false;
      looked = performance.now();
      await pause(1_000);
    }
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  const running = run();
  return {
    health: () => {
      const lookedMsAgo = Math.round(performance.now() - looked);
      return { ok: lookedMsAgo < 30_000, leads, lookedMsAgo };
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
