/**
 * BullMQ's backend on Postgres, which keeps the first answer to "are you there?" for ever: a first connection that failed (a server that is
 * busy, a network that was away for a moment) would fail every later use at once, and a worker's loop, which asks again without a pause, would
 * take a whole core and let nothing else happen in its process. Here a failure is forgotten after a moment.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresBackend } from "bullmq";

const againMs = 500;

/** Where both keep their answer; their types do not show it. */
interface Remembering {
  readyPromise: Promise<void> | undefined;
  waitUntilReady(): Promise<void>;
}

export const createRecoveringBackend: typeof createPostgresBackend = (...args) => {
  const backend = createPostgresBackend(...args);
  forgetFailures(backend.connection as unknown as Remembering, againMs);
  forgetFailures(backend as unknown as Remembering, 0);
  return backend;
};

function forgetFailures(asked: Remembering, pauseMs: number): void {
  const ask = asked.waitUntilReady.bind(asked);
  asked.waitUntilReady = async () => {
    const answer = ask();
    const remembered = asked.readyPromise;
    try {
      return await answer;
    } catch (error) {
      if (pauseMs > 0) await sleep(pauseMs);
      if (asked.readyPromise === remembered) asked.readyPromise = undefined;
      throw error;
    }
  };
}
