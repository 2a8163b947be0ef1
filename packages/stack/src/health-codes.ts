/** Health codes of components, in addition to those of the database, the queue and the sandbox. */
import type { Trouble } from "./health.ts";

export const healthCodes = {
  PROCESS_STARTING: {
    means: "The process has not finished starting: it waits for its servers, or migrates the database.",
    fix: "Wait. If the process does not become ready, its log names the missing server.",
  },
  PROCESS_STOPPING: {
    means: "The process is stopping. It finishes its jobs and takes no new ones.",
    fix: "Wait. The process ends after DRAIN_TIMEOUT_MS at the latest.",
  },
  WORKER_STALLED: {
    means: "Activities are due, but the queue delivers no jobs to this worker.",
    fix: "Wait. The worker connects to the queue again. If that fails, it exits; then start it again.",
  },
  WORKER_LEASES_OLD: {
    means: "This worker has not renewed its leases for 30 s, so other workers may take its activities.",
    fix: "Check that Postgres answers, and that the machine has processor time left.",
  },
  WORKERS_NONE: {
    means: "No worker is running. Runs are accepted and wait.",
    fix: "Start a worker: `markmill worker`, or `docker compose up -d worker`.",
  },
  SANDBOX_TESTING: {
    means: "The sandbox of the workers is being opened or tested.",
    fix: "Wait. This takes some seconds after the start of a worker.",
  },
  SUPERVISOR_STUCK: {
    means: "The supervisor has done no check for 30 s.",
    fix: "Check that Postgres answers. If it does, restart the supervisor. Another supervisor takes over.",
  },
  HEALTH_SILENT: {
    means: "A component of the process did not answer within 2.5 s.",
    fix: "Read the log of the process, and check that the machine has processor time left.",
  },
  HEALTH_UNKNOWN: {
    means: "A component of the process reported an error without a code.",
    fix: "Read the log of the process. This is a defect in Markmill. Please report it with the log lines.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type HealthCode = keyof typeof healthCodes;

export const troubleOf = (code: HealthCode): Trouble => ({ code, ...healthCodes[code] });
