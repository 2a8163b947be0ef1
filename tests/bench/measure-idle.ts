/** What runs that wait for a person cost: the time of worker and supervisor while nothing happens, and the slots they hold. */
import { setTimeout as sleep } from "node:timers/promises";
import { withSystem } from "./measure-load.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals } from "./table.ts";

const idleMs = 30_000;
/** What the making of the runs left to do (notifications, vacuum) is over by then. */
const settleMs = 5_000;
const mostShare = 0.02;

export interface IdleCost {
  readonly runs: number;
  readonly slots: number | null;
  /** Shares of one core. */
  readonly shares: Readonly<Record<string, number>> | null;
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureIdle(
  services: Services,
  runs: number,
  progress: (line: string) => void,
): Promise<IdleCost> {
  return withSystem(services, "markmill", { kind: "ask" }, async (system) => {
    const { loaded } = await system.measure(runs, 32);
    progress(`${loaded.durableSteps} runs wait; watching for ${idleMs / 1000} s`);
    await sleep(settleMs);
    const began = performance.now();
    const spent = await system.cpuWhile(() => sleep(idleMs));
    const micros = (performance.now() - began) * 1000;
    const shares =
      spent === null
        ? null
        : Object.fromEntries(Object.entries(spent.parts).map(([part, time]) => [part, time / micros]));
    const ours = shares === null ? null : (shares.worker ?? 0) + (shares.supervisor ?? 0);
    const goals: Goal[] = [
      { text: "no worker slot is held", figure: `${loaded.activeSlots} active jobs`, met: loaded.activeSlots === 0 },
    ];
    if (ours !== null) {
      const text = "worker and supervisor use under 2 % of a core";
      goals.push({ text, figure: percent(ours), met: ours < mostShare });
    }
    const parts = Object.entries(shares ?? {}).map(([part, share]) => `${part} ${percent(share)}`);
    const head = `${formatNumber(runs, 0)} runs wait in ASK; of one core: ${parts.join(", ") || "not known"}`;
    return { runs, slots: loaded.activeSlots, shares, goals, text: `${head}\n\n${renderGoals(goals)}` };
  });
}

function percent(share: number): string {
  return `${formatNumber(share * 100, 2)} %`;
}
