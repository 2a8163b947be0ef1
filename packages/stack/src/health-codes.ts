/** Health codes of components, in addition to those of the database, the queue and the sandbox. */
import type { Trouble } from "./health.ts";

export const healthCodes = {
  PROCESS_STARTING: {
    means: "The process has not finished starting: it waits for its servers, or migrates the database.",
    fix: "Wait. If it stays so, its log names the server that it waits for.",
  },
  PROCESS_STOPPING: {
    means: "The process was asked to end. It finishes what it holds and takes nothing new.",
    fix: "Wait: it ends after DRAIN_TIMEOUT_MS at the latest.",
  },
  WORKER_STALLED: {
    means: "Work is due, and this worker is given none by the queue.",
    fix: "Wait: it connects to the queue anew, and ends itself if that does not help. Start it again then.",
  },
  WORKER_LEASES_OLD: {
    means: "This worker has not renewed its leases for 30 s, so other workers may take its work.",
    fix: "Check that Postgres answers, and that the machine has processor time left.",
  },
  WORKERS_NONE: {
    means: "No worker is alive. Runs are accepted and wait.",
    fix: "Start a worker: `markmill worker`, or `docker compose up -d worker`.",
  },
  SANDBOX_TESTING: {
    means: "The sandbox of the workers is being opened or tested.",
    fix: "Wait; this takes some seconds after a worker's start.",
  },
  SUPERVISOR_STUCK: {
    means: "The supervisor has looked at nothing for 30 s.",
    fix: "Check that Postgres answers. If it does, start the supervisor again: another one takes over.",
  },
  HEALTH_SILENT: {
    means: "A component of the process did not answer within 2.5 s.",
    fix: "Look into the log of the process, and whether the machine has processor time left.",
  },
  HEALTH_UNKNOWN: {
    means: "A component of the process gave an error that has no code.",
    fix: "Look into the log of the process. This is a defect in Markmill: please report it with the lines around it.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type HealthCode = keyof typeof healthCodes;

export const troubleOf = (code: HealthCode): Trouble => ({ code, ...healthCodes[code] });
