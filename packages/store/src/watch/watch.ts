/**
 * Notifies watchers. Commits that NOTIFY wait for each other across the whole database, so a separate statement announces steps, at most
 * every 100 ms per process. Control messages (an epoch was raised) are notified in the commit itself. A notification is a hint: watchers
 * also poll.
 */
import { Client } from "pg";
import type { Database } from "../database/database.ts";
import { type StoreError, translate } from "../database/store-error.ts";

const announceMs = 100;
const announceBatchMs = 5;
const announceQueuedMs = 20;
/** A payload is at most 8,000 bytes, and a run id has 36. */
const idsPerPayload = 150;

export interface Announcer {
  moved(runIds: Iterable<string>): void;
  /** A run of a batch has ended, and another may start. Notified sooner, because a slot is empty until then. */
  batchMoved(): void;
  /** Runs are queued. The supervisor polls them while there are any, and is notified of the first one. */
  runsQueued(): void;
  close(): Promise<void>;
}

export function createAnnouncer(database: Database): Announcer {
  const ids = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> = Promise.resolve();
  let batchTimer: NodeJS.Timeout | null = null;
  let sendingBatch: Promise<void> = Promise.resolve();
  let queuedTimer: NodeJS.Timeout | null = null;
  let sendingQueued: Promise<void> = Promise.resolve();

  async function sendBatch(): Promise<void> {
    batchTimer = null;
    await database.calm.query("select pg_notify('markmill_batches', '')").catch(() => undefined);
  }

  async function sendQueued(): Promise<void> {
    queuedTimer = null;
    await database.calm.query("select pg_notify('markmill_queued', '')").catch(() => undefined);
  }

  async function send(): Promise<void> {
    timer = null;
    const all = [...ids];
    ids.clear();
    const payloads: string[] = [];
    for (let i = 0; i < all.length; i += idsPerPayload) payloads.push(JSON.stringify(all.slice(i, i + idsPerPayload)));
    try {
      await database.calm.query("select pg_notify('markmill_events', p) from unnest($1::text[]) as p", [payloads]);
    } catch {
      // Polling finds the run after a lost hint.
    }
  }

  return {
    moved(runIds) {
      for (const id of runIds) ids.add(id);
      if (ids.size === 0) return;
      timer ??= setTimeout(() => {
        sending = send();
      }, announceMs);
    },
    batchMoved() {
      batchTimer ??= setTimeout(() => {
        sendingBatch = sendBatch();
      }, announceBatchMs);
    },
    runsQueued() {
      queuedTimer ??= setTimeout(() => {
        sendingQueued = sendQueued();
      }, announceQueuedMs);
    },
    async close() {
      if (timer !== null) {
        clearTimeout(timer);
        sending = sending.then(send);
      }
      if (batchTimer !== null) {
        clearTimeout(batchTimer);
        sendingBatch = sendingBatch.then(sendBatch);
      }
      if (queuedTimer !== null) {
        clearTimeout(queuedTimer);
        sendingQueued = sendingQueued.then(sendQueued);
      }
      await Promise.all([sending, sendingBatch, sendingQueued]);
    },
  };
}

interface Control {
  readonly runId: string;
  readonly epoch: number;
  /** The open work of the run is no longer needed. A run that was only stopped may be resumed. */
  readonly over?: unknown;
}

export interface Watch {
  /** Runs with new events. */
  readonly onRuns?: (runIds: readonly string[]) => void;
  /** The worker must give up activities of this run with an older epoch. */
  readonly onControl?: (control: Control) => void;
  /** A batch was saved or changed, or a run of one has ended. */
  readonly onBatches?: () => void;
  /** Runs are queued. */
  readonly onQueued?: () => void;
  /** After every (re)connection: notifications may have been missed. */
  readonly onConnected?: () => void;
  readonly onError?: (error: StoreError) => void;
}

/** Listens on a connection of its own, and reconnects after it broke. Returns a function that ends it. */
export function watch(url: string, watcher: Watch): () => Promise<void> {
  let client: Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  function again(error: unknown): void {
    if (closed || timer !== null) return;
    watcher.onError?.(translate(error, "Listening to Postgres"));
    client?.removeAllListeners("end");
    client?.end().catch(() => undefined);
    client = null;
    timer = setTimeout(() => {
      timer = null;
      void connect();
    }, 500);
  }

  async function connect(): Promise<void> {
    const next = new Client({ connectionString: url, keepAlive: true, application_name: "markmill watch" });
    client = next;
    next.on("error", again);
    next.on("end", () => again(new Error("Connection terminated")));
    next.on("notification", ({ channel, payload = "" }) => {
      if (channel === "markmill_batches") return watcher.onBatches?.();
      if (channel === "markmill_queued") return watcher.onQueued?.();
      // Every role that may connect may notify. Ignore foreign messages, because an error thrown here would not be caught.
      try {
        const said: unknown = JSON.parse(payload);
        if (channel === "markmill_events" && isRuns(said)) watcher.onRuns?.(said);
        else if (channel === "markmill_control" && isControl(said)) watcher.onControl?.(said);
      } catch (error) {
        if (!(error instanceof SyntaxError)) watcher.onError?.(translate(error, "Hearing a notification"));
      }
    });
    try {
      await next.connect();
      if (watcher.onRuns !== undefined) await next.query("listen markmill_events");
      if (watcher.onControl !== undefined) await next.query("listen markmill_control");
      if (watcher.onBatches !== undefined) await next.query("listen markmill_batches");
      if (watcher.onQueued !== undefined) await next.query("listen markmill_queued");
      if (!closed) watcher.onConnected?.();
    } catch (error) {
      again(error);
    }
  }

  const first = connect();
  return async () => {
    closed = true;
    if (timer !== null) clearTimeout(timer);
    await first;
    client?.removeAllListeners("end");
    await client?.end().catch(() => undefined);
  };
}

function isRuns(said: unknown): said is readonly string[] {
  return Array.isArray(said) && said.every((id) => typeof id === "string");
}

function isControl(said: unknown): said is Control {
  if (typeof said !== "object" || said === null) return false;
  return "runId" in said && typeof said.runId === "string" && "epoch" in said && Number.isSafeInteger(said.epoch);
}
