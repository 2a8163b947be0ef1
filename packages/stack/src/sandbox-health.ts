/**
 * The component `sandbox` of a readiness answer: can commands of workflows be run? It may be shown to anybody: it names codes and fixes, no
 * address (C2 of the store's command-standing.ts).
 *
 * A deployment without it is degraded and still ready: workflows that run no command work, and people read and decide. Taking the API away
 * from its load balancer, or a worker from its orchestrator, would mend nothing.
 */
import type { CommandStanding } from "@markmill/store";
import type { Trouble } from "./health.ts";
import { troubleOf } from "./health-codes.ts";

/** null: a worker can execute. Of a deployment: what each living worker says. Of one worker's own health: what it says itself. */
export function sandboxTrouble(standings: readonly CommandStanding[]): Trouble | null {
  if (standings.some(({ can }) => can === "execute")) return null;
  if (standings.length === 0) return troubleOf("WORKERS_NONE");
  const lacking = standings.filter((one) => one.can === "nothing");
  if (lacking.length < standings.length) return troubleOf("SANDBOX_TESTING");
  // Several workers mostly lack the same thing: one of the most frequent is told.
  const byCode = [...Map.groupBy(lacking, ({ code }) => code).values()].sort((a, b) => b.length - a.length);
  const told = byCode[0]?.[0];
  if (told === undefined) return troubleOf("SANDBOX_TESTING");
  const { code, means, fix } = told;
  return { code, means, fix };
}

/** The sentence of it: "no worker can execute commands (CODE): what that means". */
export function tellSandboxTrouble({ code, means }: Trouble): string {
  return `no worker can execute commands (${code}): ${means}`;
}
