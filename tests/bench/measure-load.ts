/** One load on one system: wall time, processor time, and whether every step is where it should be. */
import { type CpuSpent, cpuBetween, readCpu } from "./cpu-meter.ts";
import type { Counted, Loaded, Start, Workload } from "./line-protocol.ts";
import type { Services } from "./start-services.ts";
import { type SystemProcess, startSystem } from "./system-process.ts";
import { type SystemName, systems } from "./systems.ts";

export interface Measured {
  readonly loaded: Loaded & Counted;
  readonly stepsPerSecond: number;
  /** Median over the runs, the making of a run not counted. */
  readonly msPerStep: number;
  /** Microseconds per step; null: a server is not on this machine. */
  readonly cpu: CpuPerStep | null;
}

export interface CpuPerStep {
  readonly total: number;
  readonly parts: Readonly<Record<string, number>>;
  /** Share of the machine that others used meanwhile. */
  readonly others: number;
}

export interface UnderTest {
  readonly databaseUrl: string;
  readonly pids: SystemProcess["pids"];
  measure(runs: number, inFlight: number): Promise<Measured>;
  cpuWhile(wait: () => Promise<void>): Promise<CpuSpent | null>;
}

/** Starts the system on a database of its own, hands it over, and takes both away again. */
export async function withSystem<Result>(
  services: Services,
  name: SystemName,
  workload: Workload,
  use: (system: UnderTest) => Promise<Result>,
  more: { readonly profiles?: string; readonly prefix?: string } = {},
): Promise<Result> {
  const database = await services.freshDatabase();
  try {
    const { file, queue } = systems[name];
    const { redisUrl } = services;
    // As long as the one that ships, since Redis reads it in every key.
    const prefix = more.prefix ?? `mm${new URL(database.url).pathname.slice(-6)}`;
    const profiles = more.profiles ?? null;
    const start: Omit<Start, "do"> = { databaseUrl: database.url, redisUrl, prefix, queue, workload, profiles };
    const system = await startSystem(file, start);
    try {
      const result = await use(underTest(system, services, start));
      await system.stop();
      return result;
    } catch (error) {
      // Whatever stopping says now is only a consequence.
      await system.stop().catch(() => undefined);
      throw error;
    }
  } finally {
    await database.drop();
  }
}

function underTest(system: SystemProcess, services: Services, start: Omit<Start, "do">): UnderTest {
  const { workload, databaseUrl } = start;
  const stepsPerRun = workload.kind === "chain" ? workload.steps : 1;
  const watched = { processes: system.pids, servers: services.pids };
  let stepsSoFar = 0;
  async function cpuWhile(wait: () => Promise<void>): Promise<CpuSpent | null> {
    const before = readCpu(watched);
    await wait();
    return cpuBetween(before, readCpu(watched));
  }
  return {
    databaseUrl,
    pids: system.pids,
    cpuWhile,
    async measure(runs, inFlight) {
      const before = readCpu(watched);
      const worked = await system.load({ runs, inFlight });
      const spent = cpuBetween(before, readCpu(watched));
      const loaded = { ...worked, ...(await system.count()) };
      const steps = runs * stepsPerRun;
      stepsSoFar += steps;
      if (loaded.durableSteps !== null && loaded.durableSteps !== stepsSoFar) {
        throw new Error(`${loaded.durableSteps} steps are in the database, and ${stepsSoFar} were made`);
      }
      return {
        loaded,
        stepsPerSecond: (steps / loaded.ms) * 1000,
        msPerStep: median(loaded.runMs) / stepsPerRun,
        cpu: spent === null ? null : perStep(spent, steps),
      };
    },
  };
}

/** Loads of one size as one. */
export function together(loads: readonly Measured[]): Measured {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const last = loads.at(-1);
  if (last === undefined) throw new Error("nothing was measured");
  const cpus = loads.flatMap(({ cpu }) => cpu ?? []);
  const parts = Object.keys(last.cpu?.parts ?? {}).map((part) => [
    part,
    mean(cpus.map(({ parts }) => parts[part] ?? 0)),
  ]);
  const runMs = loads.flatMap(({ loaded }) => loaded.runMs);
  return {
    loaded: { ...last.loaded, runMs, ms: loads.reduce((sum, { loaded }) => sum + loaded.ms, 0) },
    // As many steps in each, so that the mean of their times is what counts.
    stepsPerSecond: 1 / mean(loads.map(({ stepsPerSecond }) => 1 / stepsPerSecond)),
    msPerStep: median(loads.map(({ msPerStep }) => msPerStep)),
    cpu:
      cpus.length < loads.length
        ? null
        : {
            total: mean(cpus.map(({ total }) => total)),
            parts: Object.fromEntries(parts),
            others: mean(cpus.map(({ others }) => others)),
          },
  };
}

function perStep({ total, parts, others }: CpuSpent, steps: number): CpuPerStep {
  const shares = Object.entries(parts).map(([part, time]) => [part, time / steps] as const);
  return { total: total / steps, parts: Object.fromEntries(shares), others };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
