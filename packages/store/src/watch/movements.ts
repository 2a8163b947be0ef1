/**
 * Waits for runs to change ("move"). One connection listens for all waiting callers of this process; the first one opens it. A notification
 * is only a hint: callers also read again after a while.
 */
import type { Database } from "../database/database.ts";
import { watch } from "./watch.ts";

interface Movement {
  /** The run changed, or the time is over. Never fails. */
  readonly happened: Promise<void>;
  cancel(): void;
}

export interface Movements {
  next(runId: string, mostMs: number, signal?: AbortSignal): Movement;
  close(): Promise<void>;
}

export function createMovements(database: Database): Movements {
  const waiting = new Map<string, Set<() => void>>();
  let stop: (() => Promise<void>) | null = null;
  let closed = false;

  function wake(runIds: Iterable<string>): void {
    for (const id of runIds) for (const go of [...(waiting.get(id) ?? [])]) go();
  }

  return {
    next(runId, mostMs, signal) {
      if (closed) return { happened: Promise.resolve(), cancel: () => undefined };
      // Before the connection is open, and while it is broken, movements are missed: all callers read again when it is open.
      stop ??= watch(database.url, { onRuns: wake, onConnected: () => wake([...waiting.keys()]) });
      const { promise, resolve } = Promise.withResolvers<void>();
      const those = waiting.get(runId) ?? new Set();
      waiting.set(runId, those);
      const go = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", go);
        those.delete(go);
        if (those.size === 0 && waiting.get(runId) === those) waiting.delete(runId);
        resolve();
      };
      const timer = setTimeout(go, mostMs);
      those.add(go);
      signal?.addEventListener("abort", go, { once: true });
      if (signal?.aborted === true) go();
      return { happened: promise, cancel: go };
    },
    async close() {
      closed = true;
      wake([...waiting.keys()]);
      await stop?.();
    },
  };
}
