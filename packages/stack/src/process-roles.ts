/** Defines what each process of a deployment does with an open stack. */
import { setPriority } from "node:os";
import type { ProcessRole } from "./serve-process.ts";
import type { StackLog } from "./stack-log.ts";

export const workerRole: ProcessRole = {
  name: "worker",
  help: (command) => `Usage: ${command}

Run a worker process. It takes activities from the queue, performs them and
commits their results. Start any number of workers on any number of machines,
with the same DATABASE_URL and REDIS_URL; .env.example lists all settings. Logs
are JSON lines (LOG_LEVEL). HEALTH_PORT serves /health/live and /health/ready.
After SIGTERM, the worker finishes its activities and exits. After a second
SIGTERM it exits at once, and other workers repeat the activities.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… ${command}`,

  async begin(stack, { config, log, giveUp }) {
    const onStalled = () =>
      giveUp("activities are due, but the queue delivers no jobs, even after a new connection: the worker exits");
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
    log.warn({ err: error }, "the worker's priority could not be changed");
  }
}

export const supervisorRole: ProcessRole = {
  name: "supervisor",
  help: (command) => `Usage: ${command}

Run a supervisor process. It enforces time limits, expires questions, enqueues
lost jobs again, removes crashed workers, and deletes data older than
RETENTION_DAYS. Start two: one works, and the other takes over if it fails. Logs
are JSON lines (LOG_LEVEL). HEALTH_PORT serves /health/live and /health/ready.
SIGTERM stops it.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… ${command}`,

  async begin(stack) {
    await stack.work({ worker: false, supervisor: true, only: null, obeys: false });
    return endsWithTheStack;
  },
};

const endsWithTheStack = { facts: {}, close: async () => undefined };
