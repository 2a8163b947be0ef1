/**
 * What the board costs those who work: the load of 32 runs in flight with a client that asks the board every `everyMs`, as its page does, and
 * with none, slice by slice in turn. The shipped API runs beside both; its idle time is in both.
 */
import { type Measured, median, together, type UnderTest, withSystem } from "./measure-load.ts";
import { shipProcesses } from "./shipped-processes.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals, renderTable, withRange } from "./table.ts";

const steps = 10;
const inFlight = 32;
const slices = 10;
const everyMs = 2_000;
const mostLoss = 0.05;
/** What the page of a queue's finished jobs asks: figures of all queues, and the jobs of one. */
const page = "/board/api/queues?activeQueue=control&status=completed&page=1&jobsPerPage=10";

interface BoardRound {
  readonly watched: Measured;
  readonly alone: Measured;
  readonly looks: readonly number[];
}

interface BoardCost {
  readonly rounds: readonly BoardRound[];
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureBoard(
  services: Services,
  runs: number,
  rounds: number,
  progress: (line: string) => void,
): Promise<BoardCost> {
  const measured: BoardRound[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // The prefix that ships, which the API uses too.
    const one = await withSystem(
      services,
      "markmill",
      { kind: "chain", steps },
      (system) => measureRound(services, system, runs),
      { prefix: "markmill" },
    );
    measured.push(one);
    const [watched, alone] = [one.watched, one.alone].map(({ stepsPerSecond }) => formatNumber(stepsPerSecond, 0));
    progress(`round ${round + 1} of ${rounds}: ${watched} steps/s watched, ${alone} alone, ${one.looks.length} looks`);
  }
  const speeds = measured.map(({ watched, alone }) => watched.stepsPerSecond / alone.stepsPerSecond);
  const cpus = measured.map(({ watched, alone }) => (watched.cpu?.total ?? 0) / (alone.cpu?.total ?? 0));
  const row = (name: string, of: (round: BoardRound) => Measured) => [
    name,
    withRange(
      measured.map((round) => of(round).stepsPerSecond),
      0,
    ),
    withRange(
      measured.flatMap((round) => of(round).cpu?.total ?? []),
      0,
    ),
  ];
  const table = renderTable([
    ["", `steps/s, ${inFlight} in flight`, "CPU µs per step, without the API's"],
    row("nobody looks", ({ alone }) => alone),
    row(`a look every ${everyMs / 1000} s`, ({ watched }) => watched),
  ]);
  const looks = measured.flatMap((round) => round.looks);
  const goals: Goal[] = [
    {
      text: `a look at the board every ${everyMs / 1000} s costs at most ${mostLoss * 100} % of the steps/s`,
      figure: `${withRange(speeds, 3)} times the steps/s, ${withRange(cpus.filter(Number.isFinite), 3)} times the CPU`,
      met: median(speeds) >= 1 - mostLoss,
    },
  ];
  const looked = `${looks.length} looks, ${formatNumber(median(looks), 0)} ms each (median), ${formatNumber(Math.max(...looks), 0)} ms at most`;
  return { rounds: measured, goals, text: [table, "", looked, "", renderGoals(goals)].join("\n") };
}

async function measureRound(services: Services, system: UnderTest, runs: number): Promise<BoardRound> {
  const processes = shipProcesses({
    env: {
      DATABASE_URL: system.databaseUrl,
      REDIS_URL: services.redisUrl,
      QUEUE_BACKEND: "redis",
      API_PORT: "0",
      SANDBOX: "none",
    },
  });
  try {
    const { said } = await processes.start("api");
    const url = /"url":"([^"]+)"/.exec(said)?.[1] ?? "";
    const token = /mm_[\w-]+/.exec(said)?.[0] ?? "";
    const looks: number[] = [];
    const watched: Measured[] = [];
    const alone: Measured[] = [];
    const measure = () => system.measure(Math.ceil(runs / slices), inFlight);
    const measureWatched = async () => {
      const client = lookAt(`${url}${page}`, token, looks);
      watched.push(await measure());
      await client.stop();
    };
    await measure();
    for (let slice = 0; slice < slices; slice += 1) {
      if (slice % 2 === 0) await measureWatched();
      alone.push(await measure());
      if (slice % 2 === 1) await measureWatched();
    }
    return { watched: together(watched), alone: together(alone), looks };
  } finally {
    await processes.stop();
  }
}

/** The first look at once. A look that is refused ends the benchmark: it would cost nothing. */
function lookAt(address: string, token: string, looks: number[]) {
  let failure: Error | null = null;
  let underWay: Promise<void> = Promise.resolve();
  const look = async () => {
    const begun = performance.now();
    const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.status !== 200 || !text.includes('"control"')) {
      throw new Error(`the board answered ${answer.status}: ${text.slice(0, 200)}`);
    }
    looks.push(performance.now() - begun);
  };
  const begin = () => {
    underWay = look().catch((error: Error) => {
      failure ??= error;
    });
  };
  begin();
  const timer = setInterval(begin, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await underWay;
      if (failure !== null) throw failure;
    },
  };
}
