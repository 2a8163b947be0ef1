/**
 * Renews the leases of what a worker holds, from a thread of its own: a worker whose event loop is busy (a long text, a large reply)
 * must not lose what it has begun, because another one would begin it again, and pay again.
 *
 * M1  The thread has one connection, renews all leases with one statement, and connects again when it broke. It tells what was lost. What
 *     somebody has locked is not lost: it is renewed in the next round, of which there are three in a lease.
 * M2  It renews for a main loop that is silent, and beats for it, but not for ever: after `giveUpMs` of silence it closes its connection and
 *     the leases are left to end, because a loop that never comes back would hold its work for ever. Only time in which the thread itself
 *     was running counts, so a process that was stopped is not given up when it wakes up.
 * M3  While it has told nothing for most of a lease (it starts, its connection broke, it died), or once there were more leases than places in
 *     the table, the main thread renews as well. It is started again when it died. It keeps no process alive and ends with it.
 * M4  Its connection says that the process lives (presence.ts), from the start of the thread on, whether anything is held or not. A
 *     connection that does not answer in time is closed after another one has taken its place: after a pause of the whole process the
 *     answer is there, and the time-out comes first.
 *
 * kill -9: process and thread end together, the connection with them, and the leases by themselves.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "@markmill/base";
import type { Database } from "../database/database.ts";
import { type StoreError, translate } from "../database/store-error.ts";
import { createLeaseTable } from "../throughput/lease-table.ts";
import { renewLeases } from "./renew-and-release.ts";

export interface LeaseKeeper {
  /** `onLost` is called when somebody else has the activity, or it is over. */
  hold(id: number, claim: number, onLost: () => void): void;
  drop(id: number): void;
  /** At once: notifications may have been missed. */
  renewNow(): void;
  /** Leases could be renewed, or there were none. */
  renewedMsAgo(): number;
  close(): Promise<void>;
}

export interface LeaseKeeperParts {
  readonly database: Database;
  readonly leaseMs: number;
  /** Its row of living workers is kept alive. */
  readonly worker: string;
  readonly onError: (error: StoreError) => void;
}

/** To the thread: at once. What is held stands in the table (lease-table.ts). */
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

/** M2. */
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
  /** When the thread last said that all is well. */
  let heardAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  /** Something found no place in the table, so that the thread may not know of it. */
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

  /** M3. */
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
