/**
 * Decides the component `sandbox` of a readiness answer: whether commands of workflows can run. Any client may see it: it contains codes
 * and fixes, and no address (C2 of the store's command-standing.ts).
 *
 * A deployment without a sandbox is degraded and still ready: workflows without commands work, and people can read and decide. Removing the
 * API from its load balancer, or a worker from its orchestrator, would not help.
 */
import type { CommandStanding } from "@markmill/store";
import type { Trouble } from "./health.ts";
import { troubleOf } from "./health-codes.ts";

/**
 * null: a worker can execute commands. For a deployment, `standings` come from all living workers; for a worker's own health, only from
 * that worker.
 */
export function sandboxTrouble(standings: readonly CommandStanding[]): Trouble | null {
  if (standings.some(({ can }) => can === "execute")) return null;
  if (standings.length === 0) return troubleOf("WORKERS_NONE");
  const lacking = standings.filter((one) => one.can === "nothing");
  if (lacking.length < standings.length) return troubleOf("SANDBOX_TESTING");
  // Several workers usually lack the same thing, so only one of the most frequent problems is reported.
  const byCode = [...Map.groupBy(lacking, ({ code }) => code).values()].sort((a, b) => b.length - a.length);
  const told = byCode[0]?.[0];
  if (told === undefined) return troubleOf("SANDBOX_TESTING");
  const { code, means, fix } = told;
  return { code, means, fix };
}

/** The message about it: "no worker can execute commands (CODE): what that means". */
export function tellSandboxTrouble({ code, means }: Trouble): string {
  return `no worker can execute commands (${code}): ${means}`;
}
