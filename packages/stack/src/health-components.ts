/** Defines the health components that every process has, and those of a worker and a supervisor. The API adds its own. */
import type { Queues } from "@markmill/queue";
import type { CommandStanding, Store } from "@markmill/store";
import type { HealthComponent } from "./health.ts";
import { troubleOf } from "./health-codes.ts";
import { sandboxTrouble } from "./sandbox-health.ts";
import { troubleOfError } from "./trouble-of-error.ts";

export function databaseHealth(store: Pick<Store, "probe">): HealthComponent {
  return {
    name: "database",
    needed: true,
    silence: troubleOf("HEALTH_SILENT"),
    async look() {
      await store.probe();
      return null;
    },
  };
}

/** `needed` is false for the API, which accepts runs without a queue. */
export function queueHealth(queues: Pick<Queues, "probe">, needed: boolean): HealthComponent {
  return {
    name: "queue",
    needed,
    silence: troubleOf("HEALTH_SILENT"),
    async look() {
      await queues.probe();
      return null;
    },
  };
}

interface WorkerState {
  readonly stalled: readonly string[];
  readonly leasesOld: boolean;
  /** The error of the last heartbeat that could not be written. */
  readonly beat: unknown;
}

export function workerHealth(worker: { health(): WorkerState }): HealthComponent {
  return {
    name: "worker",
    needed: true,
    silence: troubleOf("HEALTH_SILENT"),
    look() {
      const { stalled, leasesOld, beat } = worker.health();
      if (stalled.length > 0) return troubleOf("WORKER_STALLED");
      if (leasesOld) return troubleOf("WORKER_LEASES_OLD");
      return beat === null ? null : troubleOfError(beat);
    },
  };
}

/** Not needed for readiness: sandbox-health.ts gives the reason. */
export function workerSandboxHealth(worker: { commands(): CommandStanding }): HealthComponent {
  return {
    name: "sandbox",
    needed: false,
    silence: troubleOf("HEALTH_SILENT"),
    look: () => sandboxTrouble([worker.commands()]),
  };
}

export function supervisorHealth(supervisor: { health(): { readonly ok: boolean } }): HealthComponent {
  return {
    name: "supervisor",
    needed: true,
    silence: troubleOf("HEALTH_SILENT"),
    look: () => (supervisor.health().ok ? null : troubleOf("SUPERVISOR_STUCK")),
  };
}
