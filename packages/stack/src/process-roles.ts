/** Defines what each process of a deployment does with an open stack. */
import { setPriority } from "node:os";
import type { ProcessRole } from "./serve-process.ts";
import type { StackLog } from "./stack-log.ts";

export const workerRole: ProcessRole = {
  name: "worker",
  help: (command) => `Usage: ${command}

A worker: takes activities from the queue, performs them, commits what came of
them. Start any number, on any number of machines, with the same DATABASE_URL
and REDIS_URL; .env.example lists all settings. Logs are JSON lines (LOG_LEVEL);
HEALTH_PORT opens /health/live and /health/ready. SIGTERM lets it finish what it
holds, a second one ends it at once: others take over.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… ${command}`,

  async begin(stack, { config, log, giveUp }) {
    const onStalled = () => giveUp("work is due and nothing is heard, also after reconnecting: leaving");
    await stack.work({ worker: true, supervisor: false, only: null, obeys: false, onStalled });
    // The lease thread is already running, so it keeps its priority.
    standBack(config.worker.nice, log);
    return endsWithTheStack;
  },
};

function standBack(nice: number, log: StackLog): void {
  if (nice === 0) return;
  try {
    setPriority(nice);
  } catch (error) {
    log.warn({ err: error }, "the worker's priority stays as it is");
  }
}

export const supervisorRole: ProcessRole = {
  name: "supervisor",
  help: (command) => `Usage: ${command}

The supervisor: enforces time limits, expires questions, enqueues again for work
that the queue has lost, forgets dead workers, deletes what is older than
RETENTION_DAYS. Start two: one acts, the other takes over. Logs are JSON lines
(LOG_LEVEL); HEALTH_PORT opens /health/live and /health/ready. SIGTERM stops it.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… ${command}`,

  async begin(stack) {
    await stack.work({ worker: false, supervisor: true, only: null, obeys: false });
    return endsWithTheStack;
  },
};

const endsWithTheStack = { facts: {}, close: async () => undefined };
