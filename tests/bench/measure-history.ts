/**
 * Does a step cost more the longer its run has been? Runs of 2,000 steps against runs of 10, the same number of steps in all. Judged
 * one at a time and without the making of the run, which a short run would pay for in every tenth step.
 */
import { type Measured, median, withSystem } from "./measure-load.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals, renderTable, withRange } from "./table.ts";

const short = 10;
const long = 2_000;
const mostInFlight = 32;
const mostRatio = 1.15;

interface Round {
  readonly alone: Measured;
  readonly together: Measured;
}

export interface HistoryCost {
  readonly short: readonly Round[];
  readonly long: readonly Round[];
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureHistory(
  services: Services,
  longRuns: number,
  rounds: number,
  progress: (line: string) => void,
): Promise<HistoryCost> {
  const measured: Record<"short" | "long", Round[]> = { short: [], long: [] };
  const inFlight = Math.min(longRuns, mostInFlight);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [length, steps] of [
      ["short", short],
      ["long", long],
    ] as const) {
      const times = long / steps;
      const result = await withSystem(services, "markmill", { kind: "chain", steps }, async (system) => {
        await system.measure(times, inFlight);
        const alone = await system.measure(Math.max(1, Math.ceil(longRuns / 10)) * times, 1);
        return { alone, together: await system.measure(longRuns * times, inFlight) };
      });
      measured[length].push(result);
      progress(
        `round ${round} of ${rounds}, ${steps} steps: ${formatNumber(result.alone.msPerStep, 3)} ms per step alone`,
      );
    }
  }
  const ratios = ratiosOf(measured, ({ alone }) => alone.msPerStep);
  const goal: Goal = {
    text: `a step of a run of ${formatNumber(long, 0)} costs at most ${mostRatio} times a step of a run of ${short}`,
    figure: withRange(ratios, 2),
    met: median(ratios) <= mostRatio,
  };
  const table = renderTable([
    ["", "ms per step, alone", "its CPU µs", `steps/s, ${inFlight} in flight`, "its CPU µs"],
    row(`runs of ${short} steps`, measured.short),
    row(`runs of ${formatNumber(long, 0)} steps`, measured.long),
    [
      "ratio of costs",
      withRange(ratios, 2),
      withRange(
        ratiosOf(measured, ({ alone }) => alone.cpu?.total ?? Number.NaN),
        2,
      ),
      withRange(
        ratiosOf(measured, ({ together }) => 1 / together.stepsPerSecond),
        2,
      ),
      withRange(
        ratiosOf(measured, ({ together }) => together.cpu?.total ?? Number.NaN),
        2,
      ),
    ],
  ]);
  return { ...measured, goals: [goal], text: `${table}\n\n${renderGoals([goal])}` };
}

function ratiosOf(measured: Record<"short" | "long", readonly Round[]>, cost: (round: Round) => number): number[] {
  return measured.long.flatMap((round, index) => {
    const other = measured.short[index];
    const ratio = other === undefined ? Number.NaN : cost(round) / cost(other);
    return Number.isFinite(ratio) ? [ratio] : [];
  });
}

function row(label: string, rounds: readonly Round[]): string[] {
  return [
    label,
    withRange(
      rounds.map(({ alone }) => alone.msPerStep),
      3,
    ),
    withRange(
      rounds.flatMap(({ alone }) => alone.cpu?.total ?? []),
      0,
    ),
    withRange(
      rounds.map(({ together }) => together.stepsPerSecond),
      0,
    ),
    withRange(
      rounds.flatMap(({ together }) => together.cpu?.total ?? []),
      0,
    ),
  ];
}
