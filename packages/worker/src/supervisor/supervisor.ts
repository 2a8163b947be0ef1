/**
 * The supervisor ensures that no run waits for ever. Several may run: one acts, the others stand by (advisory lock).
 *
 * U1  It holds no data except the times of its cycles. Every cycle starts from rows, by the database's clock, and doing it twice is
 *     harmless.
 * U2  An activity that is ready and was not enqueued for a while is enqueued again if the queue has lost its job (enqueue-lost.ts). A lease
 *     that ended `halfDeadMs` ago counts as lost only if Postgres has answered for that whole time: a worker renews leases that expired
 *     during an outage of Postgres when it is back.
 * U3  The duties do not depend on each other. If one duty fails, or one run cannot be handled, that is logged and the others are done.
 * U5  Runs of submissions are started in a loop of their own: an empty slot costs more than a late cycle. A cycle begins when a run of a
 *     batch ended or a batch was changed, and four times a second while any batch has something to do. The loop acts at once on a
 *     notification after a calm time, and acts together on notifications that follow soon after.
 * U8  Queued runs have their own loop, too: every 50 ms while there are any, else on a notification, and every few seconds in any case.
 * U7  Webhooks have their own loop, too: an address that does not answer delays no other duty (tell-webhooks.ts).
 * U6  The passage index, if there is one, is filled in its own loop, too: it is slow, and no run waits for it.
 * U4  A duty rests for twenty times as long as it took, up to some seconds: with a hundred thousand open runs, reading them must not become
 *     the load.
 *
 * kill -9 between any two lines: the next cycle, by this or another supervisor, finds the same rows.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Queues } from "@markmill/queue";
import { StoreError } from "@markmill/store";
import {
  addDeletedUsage,
  admitRuns,
  admitWorks,
  buryWorkers,
  deleteOldBatches,
  deleteOldDeliveries,
  deleteOldRuns,
  deleteOrphans,
  enforceDeadlines,
  expireAsks,
  fillPassageIndex,
  gatherSpendings,
  type Machine,
  type OnSkipped,
  settleAbandoned,
  watch,
  withLeadership,
} from "@markmill/store/machine";
import { enqueueLost } from "./enqueue-lost.ts";
import { longestRestMs, restBetweenLooks } from "./rest-between-looks.ts";
import { type SendWebhook, tellWebhooks } from "./tell-webhooks.ts";

export interface SupervisorParts {
  readonly store: Machine;
  readonly queues: Queues;
  readonly log: Log;
  /** 0 keeps finished runs. */
  readonly retentionDays: number;
  readonly lookMs?: number;
  /** An activity that is ready and was not enqueued for this time is checked in the queue. */
  readonly quietMs?: number;
  /** See U2. */
  readonly halfDeadMs?: number;
  /** U5: the time between cycles while no batch has anything to do and no notification arrives. */
  readonly admitIdleMs?: number;
  /** Runs at once, of all batches together, and of one tenant's batches. */
  readonly batchRuns?: number;
  readonly batchRunsPerTenant?: number;
  /** Runs of one tenant at once, of those that wait for slots. null or absent: as many as workers can use. */
  readonly runsPerTenant?: number | null;
  /** For tests: called between the steps of starting a run. */
  readonly failPoint?: (point: "admitted" | "created" | "queued") => void;
  /** Absent: this supervisor sends no webhooks. */
  readonly sendWebhook?: SendWebhook;
}

interface Log {
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
const dayMs = 86_400_000;
const deleteEveryMs = 10 * 60_000;
const settleEveryMs = 10_000;
/** A reservation of a finished activity is counted as spent after this time. */
const abandonedMs = 60_000;
const defaultHalfDeadMs = 10_000;
/** A duty that takes this long has waited for Postgres. */
const slowMs = 5_000;
const deletedTogether = 100;
const defaultBatchRuns = 256;
/** See U5. */
const admitMs = 250;
const defaultAdmitIdleMs = 5_000;
/** See U8. */
const queuedIdleMs = 2_000;
/** See U6. */
const fillEveryMs = 60_000;
/** U7: time between cycles, with and without webhooks. */
const tellEveryMs = 1_000;
const tellIdleMs = 5_000;
/** How long ended deliveries are kept, for people who inspect them. */
const deliveriesKeptMs = 30 * dayMs;
/** See U4. */
const restPerWork = 20;

interface Duty {
  readonly name: string;
  readonly everyMs: number;
  readonly does: () => Promise<void>;
}

export function startSupervisor(parts: SupervisorParts): RunningSupervisor {
  const { store, queues, log } = parts;
  const lookMs = parts.lookMs ?? defaultLookMs;
  const quietMs = parts.quietMs ?? defaultQuietMs;
  const halfDeadMs = parts.halfDeadMs ?? defaultHalfDeadMs;
  const stopping = new AbortController();
  let leads = false;
  let looked = performance.now();
  /** Since when Postgres has answered in every cycle. */
  let answersSince = performance.now();
  const onSkipped: OnSkipped = (error, about) => log.error({ err: error, ...about }, "a run cannot be processed");

  const duties: readonly Duty[] = [
    {
      name: "deadlines",
      everyMs: 0,
      does: async () => void (await queues.enqueue(await enforceDeadlines(store, onSkipped))),
    },
    {
      name: "questions",
      everyMs: 0,
      does: async () => void (await queues.enqueue(await expireAsks(store, onSkipped))),
    },
    { name: "lost enqueues", everyMs: 0, does: enqueueAgain },
    { name: "lost workers", everyMs: 0, does: bury },
    { name: "reservations", everyMs: settleEveryMs, does: settle },
    { name: "retention", everyMs: deleteEveryMs, does: deleteOld },
    { name: "retention of batches", everyMs: deleteEveryMs, does: deleteOldClasses },
    {
      name: "old deliveries",
      everyMs: deleteEveryMs,
      does: async () => void (await deleteOldDeliveries(store.database, deliveriesKeptMs)),
    },
    { name: "orphans", everyMs: deleteEveryMs, does: deleteUnnamed },
  ];
  const dueAt = new Map<Duty, number>();

  /** See U3 and U4. */
  async function look(): Promise<void> {
    for (const duty of duties) {
      const now = performance.now();
      if (now < (dueAt.get(duty) ?? 0)) continue;
      try {
        await duty.does();
        if (performance.now() - now > slowMs) answersSince = performance.now();
      } catch (error) {
        if (error instanceof StoreError && error.code === "STORE_UNREACHABLE") answersSince = performance.now();
        log.warn({ err: error, duty: duty.name }, "a supervisor task failed");
      }
      const took = performance.now() - now;
      dueAt.set(duty, now + Math.max(duty.everyMs, Math.min(took * restPerWork, longestRestMs)));
    }
  }

  async function bury(): Promise<void> {
    const dead = await buryWorkers(store.database);
    if (dead.length > 0) log.warn({ workers: dead }, "workers crashed");
  }

  async function settle(): Promise<void> {
    const budgets = await settleAbandoned(store.database, abandonedMs);
    await gatherSpendings(store.database);
    await addDeletedUsage(store.database);
    if (budgets > 0) log.info({ budgets }, "booked the reserved cost of ended activities");
  }

  async function deleteOld(): Promise<void> {
    for (let deleted = deletedTogether; parts.retentionDays > 0 && deleted === deletedTogether; ) {
      if (stopping.signal.aborted) return;
      deleted = await deleteOldRuns(store.database, parts.retentionDays * dayMs, deletedTogether);
      if (deleted > 0) log.info({ deleted }, "old runs were deleted");
    }
  }

  async function deleteOldClasses(): Promise<void> {
    if (parts.retentionDays <= 0) return;
    const batches = await deleteOldBatches(store.database, parts.retentionDays * dayMs, undefined, (error, batch) =>
      log.error({ err: error, batch }, "an old batch cannot be deleted"),
    );
    if (batches > 0) log.info({ batches }, "old batches were deleted");
  }

  async function deleteUnnamed(): Promise<void> {
    const orphans = await deleteOrphans(store, dayMs);
    if (orphans > 0) log.info({ orphans }, "deleted files that no run uses");
  }

  /** See U2. */
  async function enqueueAgain(): Promise<void> {
    const leaseMayBeOverMs = performance.now() - answersSince > halfDeadMs ? halfDeadMs : Number.POSITIVE_INFINITY;
    const count = await enqueueLost(store.database, queues, { quietMs, leaseMayBeOverMs });
    if (count > 0) log.info({ count }, "enqueued lost jobs again");
  }

  async function lead(lost: AbortSignal): Promise<void> {
    leads = true;
    answersSince = performance.now();
    log.info({}, "this supervisor leads");
    const over = AbortSignal.any([stopping.signal, lost]);
    const admitting = Promise.all([admit(over), admitQueued(over), fillIndex(over), tell(over)]);
    while (!over.aborted) {
      await look();
      looked = performance.now();
      await pause(lookMs);
    }
    await admitting;
  }

  /** See U7. */
  async function tell(over: AbortSignal): Promise<void> {
    const { sendWebhook } = parts;
    if (sendWebhook === undefined) return;
    const waiting = { busy: new Set<string>(), patienceMs: tellEveryMs };
    while (!over.aborted) {
      let sent: number | null = 0;
      try {
        sent = await tellWebhooks(store.database, sendWebhook, () => store.clock.now(), waiting);
      } catch (error) {
        log.warn({ err: error }, "webhooks cannot be sent at the moment");
      }
      const wait = sent === null ? tellIdleMs : sent === 0 ? tellEveryMs : 0;
      if (wait > 0) await sleep(wait, undefined, { signal: over }).catch(() => undefined);
    }
  }

  /** See U5. */
  async function admit(over: AbortSignal): Promise<void> {
    let heard = Promise.withResolvers<void>();
    const hear = () => heard.resolve();
    over.addEventListener("abort", hear);
    const onError = (error: StoreError) => log.warn({ err: error }, "batches are not heard of; they are looked at");
    const unwatch = watch(store.database.url, { onBatches: hear, onConnected: hear, onError });
    const warned = new Set<string>();
    let called = false;
    while (!over.aborted) {
      heard = Promise.withResolvers();
      const began = performance.now();
      let busy = true;
      try {
        const enqueue = async (jobs: Parameters<Queues["enqueue"]>[0]) => void (await queues.enqueue(jobs));
        const most = parts.batchRuns ?? defaultBatchRuns;
        const admission = await admitWorks(store, {
          most,
          enqueue,
          onSkipped,
          ...(parts.batchRunsPerTenant === undefined ? {} : { mostOfTenant: parts.batchRunsPerTenant }),
          ...(parts.failPoint === undefined ? {} : { failPoint: parts.failPoint }),
        });
        busy = admission.busy;
        for (const batch of admission.nearlySpent) {
          if (!warned.has(batch)) log.warn({ batch }, "four fifths of a batch's budget are spent or reserved");
          warned.add(batch);
        }
      } catch (error) {
        log.warn({ err: error }, "submissions could not be started");
      }
      // One cycle covers all ends that were notified since the last one.
      await pause(restBetweenLooks(performance.now() - began, called));
      called = await Promise.race([
        heard.promise.then(() => true),
        pause(busy ? admitMs : (parts.admitIdleMs ?? defaultAdmitIdleMs)).then(() => false),
      ]);
    }
    over.removeEventListener("abort", hear);
    await unwatch();
  }

  /** See U8. */
  async function admitQueued(over: AbortSignal): Promise<void> {
    let heard = Promise.withResolvers<void>();
    const hear = () => heard.resolve();
    over.addEventListener("abort", hear);
    const onError = (error: StoreError) =>
      log.warn({ err: error }, "queued runs are not heard of; they are looked for");
    const unwatch = watch(store.database.url, { onQueued: hear, onConnected: hear, onError });
    while (!over.aborted) {
      heard = Promise.withResolvers();
      const began = performance.now();
      let waiting = true;
      try {
        const admitted = await admitRuns(store, parts.runsPerTenant ?? null, onSkipped);
        if (admitted.jobs.length > 0) parts.failPoint?.("queued");
        waiting = admitted.waiting;
        await queues.enqueue(admitted.jobs);
      } catch (error) {
        log.warn({ err: error }, "queued runs could not be started");
      }
      if (waiting) await pause(restBetweenLooks(performance.now() - began, true), over);
      else await Promise.race([heard.promise, pause(queuedIdleMs, over)]);
    }
    over.removeEventListener("abort", hear);
    await unwatch();
  }

  /** See U6. Half of the time is left to other work. */
  async function fillIndex(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      try {
        let began = performance.now();
        const onCopied = async () => {
          await pause(Math.min(performance.now() - began, longestRestMs));
          began = performance.now();
          return !over.aborted;
        };
        const passages = await fillPassageIndex(store.database, { onCopied });
        if (passages > 0) log.info({ passages }, "passages were indexed");
      } catch (error) {
        log.warn({ err: error }, "passages could not be indexed; they are found by scans");
      }
      await pause(fillEveryMs, over);
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

  const pause = (ms: number, signal = stopping.signal) => sleep(ms, undefined, { signal }).catch(() => undefined);
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
