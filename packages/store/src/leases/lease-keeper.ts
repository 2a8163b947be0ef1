/**
 * Renews the leases of a worker from a thread of its own. A busy event loop (a long text, a large reply) must not lose an activity that it
 * has begun: another worker would begin it again, and pay again.
 *
 * M1  The thread has one connection, renews all leases with one statement, and reconnects when the connection breaks. It reports lost
 *     leases. A locked row is not lost: it is renewed in the next round, and there are three rounds in a lease.
 * M2  While the main loop is silent, the thread renews and sends heartbeats for it, but not for ever: a loop that never returns would hold
 *     its work for ever. After `giveUpMs` of silence, the thread closes its connection and lets the leases expire. Only time in which the
 *     thread itself was running counts. So a process that was paused is not given up when it wakes up.
 * M3  The main thread renews as well in two cases: the thread has reported nothing for most of a lease (it starts, its connection broke, it
 *     crashed), or the table once had too few places for the leases. A crashed thread is started again. The thread does not keep the
 *     process alive, and ends with it.
 * M4  The thread's connection shows that the process is alive (presence.ts), from the start of the thread on, whether it holds leases or
 *     not. A connection that does not answer in time is closed only after a new one has replaced it: after a pause of the whole process,
 *     the time-out fires before the answer is read.
 *
 * kill -9: process, thread and connection end together, and the leases expire.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "@markmill/base";
import type { Database } from "../database/database.ts";
import { type StoreError, translate } from "../database/store-error.ts";
import { createLeaseTable } from "../throughput/lease-table.ts";
import { renewLeases } from "./renew-and-release.ts";

export interface LeaseKeeper {
  /** `onLost` is called when another worker has the activity, or when it is over. */
  hold(id: number, claim: number, onLost: () => void): void;
  drop(id: number): void;
  /** Renews at once: notifications may have been missed. */
  renewNow(): void;
  /** Time since leases could be renewed, or since there were none. */
  renewedMsAgo(): number;
  close(): Promise<void>;
}

export interface LeaseKeeperParts {
  readonly database: Database;
  readonly leaseMs: number;
  /** The thread keeps this worker's row alive. */
  readonly worker: string;
  readonly onError: (error: StoreError) => void;
}

/** To the thread: renew at once. The table lists the held activities (lease-table.ts). */
export type LeaseOrder = "renew";

/** From the thread. */
export type LeaseNews =
  | { readonly news: "renewed"; readonly lost: readonly { readonly id: number; readonly claim: number }[] }
  | { readonly news: "failed"; readonly message: string; readonly code: string };

export interface LeaseThreadData {
  readonly table: SharedArrayBuffer;
  readonly url: string;
  readonly leaseMs: number;
  readonly worker: string;
  readonly giveUpMs: number;
}

/** See M2. */
const giveUpMs = 30_000;
const restartMs = 1_000;

interface Hold {
  readonly claim: number;
  readonly onLost: () => void;
}

export function createLeaseKeeper(parts: LeaseKeeperParts): LeaseKeeper {
  const { database, leaseMs, worker, onError } = parts;
  const held = new Map<number, Hold>();
  const table = createLeaseTable();
  let renewedAt = performance.now();
  /** When the thread last reported a success. */
  let heardAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  /** The table was full once, so the thread may not know all leases. */
  let crowded = false;
  let thread = start();

  function start(): Worker {
    const workerData: LeaseThreadData = { table: table.memory, url: database.url, leaseMs, worker, giveUpMs };
    const file = new URL("./lease-thread.ts", import.meta.url);
    const started = startThread(file, { workerData, name: "markmill leases" });
    started.unref();
    started.on("message", hear);
    started.on("error", (error) => onError(translate(error, "The thread that renews leases")));
    started.on("exit", () => {
      if (closed) return;
      setTimeout(() => {
        if (closed) return;
        thread = start();
      }, restartMs).unref();
    });
    return started;
  }

  function hear(news: LeaseNews): void {
    if (news.news === "failed") {
      onError(translate(Object.assign(new Error(news.message), { code: news.code }), "Renewing leases"));
      return;
    }
    heardAt = performance.now();
    renewedAt = heardAt;
    for (const { id, claim } of news.lost) lose(id, claim);
  }

  function lose(id: number, claim: number): void {
    const hold = held.get(id);
    if (hold?.claim === claim) hold.onLost();
  }

  /** See M3. */
  async function renewHere(): Promise<void> {
    const mine = [...held].map(([id, { claim }]) => ({ id, claim }));
    try {
      const kept = await renewLeases(database, mine, leaseMs);
      renewedAt = performance.now();
      for (const { id, claim } of mine) if (!kept.has(id)) lose(id, claim);
    } catch (error) {
      onError(translate(error, "Renewing leases"));
    }
  }

  const ticking = setInterval(
    () => {
      table.tick();
      if (held.size === 0) renewedAt = performance.now();
      else if (crowded || performance.now() - heardAt > leaseMs * 0.6) void renewHere();
    },
    Math.floor(leaseMs / 3),
  );

  return {
    hold(id, claim, onLost) {
      held.set(id, { claim, onLost });
      crowded = !table.put(id, claim) || crowded;
    },
    drop(id) {
      held.delete(id);
      table.take(id);
    },
    renewNow: () => thread.postMessage("renew" satisfies LeaseOrder),
    renewedMsAgo: () => Math.round(performance.now() - renewedAt),
    async close() {
      closed = true;
      clearInterval(ticking);
      await thread.terminate();
    },
  };
}
