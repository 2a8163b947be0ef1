/**
 * BullMQ's backend on Postgres, made able to recover. BullMQ keeps its first answer to "is the server there?" for ever. After one failed
 * first connection (a busy server, a short network failure), every later use would fail at once. A worker's loop asks again without a
 * pause, so it would occupy a whole core and block its process. Here, a failure is forgotten after a moment.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresBackend } from "bullmq";

const againMs = 500;

/** Both store their answer in this field. Their types do not show it. */
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
