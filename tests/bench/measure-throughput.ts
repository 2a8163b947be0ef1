/**
 * All systems in turn, slice after slice, so that what the machine does meanwhile meets all of them: the host of a virtual machine may
 * give half of its speed from one minute to the next. Every round starts all systems, each in new processes on a new database, warms them
 * up, and gives them their loads in `slices`, one system at a time while the others are idle. Ratios are taken within a round and then
 * their median.
 */
import { type Measured, median, together, type UnderTest, withSystem } from "./measure-load.ts";
import type { Services } from "./start-services.ts";
import { type SystemName, systems } from "./systems.ts";
import { formatNumber, type Goal, renderGoals, renderTable, withRange } from "./table.ts";

const steps = 10;
const inFlight = 32;
const slices = 10;

export interface Round {
  readonly alone: Measured;
  readonly together: Measured;
}

export interface Throughput {
  readonly rounds: Readonly<Partial<Record<SystemName, readonly Round[]>>>;
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureThroughput(
  services: Services,
  names: readonly SystemName[],
  runs: number,
  rounds: number,
  progress: (line: string) => void,
): Promise<Throughput> {
  const results = new Map<SystemName, Round[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const measured = await withSystems(services, names, (open) => measureRound(open, runs));
    for (const [name, one] of measured) {
      results.get(name)?.push(one);
      progress(`round ${round + 1} of ${rounds}: ${describe(name, one)}`);
    }
  }
  const goals = goalsOf(results);
  const table = renderTable([headings, ...names.map((name) => row(name, results))]);
  const parts = names.map((name) => partsOf(name, results.get(name) ?? []));
  const text = [table, "", "CPU by part, µs per step:", ...parts, "", ...noise(results), renderGoals(goals)].join("\n");
  return { rounds: Object.fromEntries(results), goals, text };
}

type Open = ReadonlyMap<SystemName, UnderTest>;

async function withSystems<Result>(
  services: Services,
  names: readonly SystemName[],
  use: (open: Open) => Promise<Result>,
  open: Open = new Map(),
): Promise<Result> {
  const [name, ...others] = names;
  if (name === undefined) return use(open);
  return withSystem(services, name, { kind: "chain", steps }, (system) =>
    withSystems(services, others, use, new Map([...open, [name, system]])),
  );
}

async function measureRound(open: Open, runs: number): Promise<ReadonlyMap<SystemName, Round>> {
  const alone = new Map<SystemName, Measured>();
  for (const [name, system] of open) {
    // Thousands of steps, until V8 has compiled what is hot: before that Node spends several times as much on a step.
    await system.measure(Math.ceil(runs / 2), inFlight);
    alone.set(name, await system.measure(Math.ceil(runs / 20), 1));
  }
  const loads = new Map<SystemName, Measured[]>([...open.keys()].map((name) => [name, []]));
  const systems = [...open];
  for (let slice = 0; slice < slices; slice += 1) {
    const first = slice % systems.length;
    for (const [name, system] of [...systems.slice(first), ...systems.slice(0, first)]) {
      loads.get(name)?.push(await system.measure(Math.ceil(runs / slices), inFlight));
    }
  }
  return new Map(
    systems.map(([name]) => [name, { alone: alone.get(name) as Measured, together: together(loads.get(name) ?? []) }]),
  );
}

const headings = [
  "system",
  `steps/s, ${inFlight} in flight`,
  "ms per step, alone",
  "CPU µs per step",
  "markmill / it",
  "its CPU / markmill's",
];

function row(name: SystemName, results: ReadonlyMap<SystemName, readonly Round[]>): string[] {
  const rounds = results.get(name) ?? [];
  return [
    systems[name].label,
    withRange(
      rounds.map(({ together }) => together.stepsPerSecond),
      0,
    ),
    withRange(
      rounds.map(({ alone }) => alone.msPerStep),
      2,
    ),
    withRange(
      rounds.flatMap(({ together }) => together.cpu?.total ?? []),
      0,
    ),
    withRange(faster(results, name), 2),
    withRange(thriftier(results, name), 2),
  ];
}

/** How many times as many steps Markmill made, by round. */
function faster(results: ReadonlyMap<SystemName, readonly Round[]>, peer: SystemName): number[] {
  return paired(results, peer, (ours, theirs) => ours.together.stepsPerSecond / theirs.together.stepsPerSecond);
}

function thriftier(results: ReadonlyMap<SystemName, readonly Round[]>, peer: SystemName): number[] {
  return paired(results, peer, (ours, theirs) => (theirs.together.cpu?.total ?? 0) / (ours.together.cpu?.total ?? 0));
}

function paired(
  results: ReadonlyMap<SystemName, readonly Round[]>,
  peer: SystemName,
  ratio: (ours: Round, theirs: Round) => number,
): number[] {
  const theirs = results.get(peer) ?? [];
  return (results.get("markmill") ?? []).flatMap((ours, index) => {
    const other = theirs[index];
    const value = other === undefined ? Number.NaN : ratio(ours, other);
    return Number.isFinite(value) ? [value] : [];
  });
}

function goalsOf(results: ReadonlyMap<SystemName, readonly Round[]>): Goal[] {
  const atLeast = (peer: SystemName, times: number): Goal[] => {
    const ratios = faster(results, peer);
    if (ratios.length === 0) return [];
    const figure = `${withRange(ratios, 2)} times`;
    return [
      { text: `at least ${times} times the steps/s of ${systems[peer].label}`, figure, met: median(ratios) >= times },
    ];
  };
  const inverse = faster(results, "bullmq").map((ratio) => 1 / ratio);
  const chain =
    inverse.length === 0
      ? []
      : [
          {
            text: "within 1.6 times of the bare BullMQ chain",
            figure: `the chain makes ${withRange(inverse, 2)} times the steps/s`,
            met: median(inverse) <= 1.6,
          },
        ];
  return [...atLeast("dbos", 4), ...atLeast("langgraph", 7), ...chain];
}

function partsOf(name: SystemName, rounds: readonly Round[]): string {
  const parts = new Map<string, number[]>();
  for (const { together } of rounds) {
    for (const [part, time] of Object.entries(together.cpu?.parts ?? {})) {
      parts.set(part, [...(parts.get(part) ?? []), time]);
    }
  }
  const shown = [...parts].map(([part, times]) => `${part} ${formatNumber(median(times), 0)}`);
  return `  ${systems[name].label}: ${shown.join(", ") || "not known"}`;
}

/** Figures of a busy machine deserve a word. */
function noise(results: ReadonlyMap<SystemName, readonly Round[]>): string[] {
  const shares = [...results.values()].flat().flatMap(({ together }) => together.cpu?.others ?? []);
  if (shares.length === 0) return [];
  const [middle, most] = [median(shares), Math.max(...shares)].map((share) => `${formatNumber(share * 100, 0)} %`);
  const warning = Math.max(...shares) > 0.08 ? " BUSY: above 8 % trust the ratios of CPU only." : "";
  return [`Others used ${middle} of the machine meanwhile (median), ${most} at most.${warning}`, ""];
}

function describe(name: SystemName, { alone, together }: Round): string {
  const cpu = together.cpu === null ? "" : `, ${formatNumber(together.cpu.total, 0)} µs CPU`;
  const others = together.cpu === null ? "" : ` (others ${formatNumber(together.cpu.others * 100, 0)} %)`;
  return `${systems[name].label}: ${formatNumber(together.stepsPerSecond, 0)} steps/s, ${formatNumber(alone.msPerStep, 2)} ms alone${cpu}${others}`;
}
