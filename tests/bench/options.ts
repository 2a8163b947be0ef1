/** The command line of the benchmark. */
import { parseArgs } from "node:util";
import { type SystemName, systemNames } from "./systems.ts";

export type Mode = "throughput" | "history" | "idle" | "api" | "board" | "class" | "memory" | "profile";

export interface Options {
  readonly mode: Mode;
  /** With `api`: its processes run under the CPU profiler. */
  readonly profiled: boolean;
  readonly rounds: number;
  /** null: the mode's own. */
  readonly runs: number | null;
  readonly only: readonly SystemName[];
  readonly json: string | null;
}

export const help = `npm run bench -- [options]

Throughput of Markmill against its peers: runs of 10 steps that do nothing, each on disk before the next begins.

  (no mode)         all systems, interleaved: steps/s with 32 runs in flight, ms per step one at a time, CPU per step
  --history         cost of a step in runs of 2,000 steps against runs of 10
  --idle            cost of 1,000 runs that wait for an answer
  --api             500 starts/s over HTTP for 20 s while a worker runs them: how long each takes to be accepted
  --board           throughput while somebody looks at the board every 2 s, against nobody, in turn
  --class           makespan of a class of 300 works of 12 prompts, model at 200 ms, 64 slots, beside the ideal schedule
  --memory          heap and memory of API, worker and supervisor over 1,000 works, some with sandbox sessions
  --sandbox         a sandbox session against bare docker exec and docker run
  --profile         Markmill alone under the CPU profiler; profiles and a summary in tests/bench/results. With --api: its processes
  --runs N          runs of a measurement (throughput and profile 4000, board 20000, history 32 long ones, idle 1000, class 300, memory 1000)
  --rounds N        how often each system is measured (3)
  --only A,B        of: ${systemNames.join(", ")}
  --json FILE       everything that was measured
  --help

Servers: TEST_DATABASE_URL and TEST_REDIS_URL, else Postgres and Redis of its own.
`;

export class UsageError extends Error {}

/** null: help is wanted. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parse(args);
  if (values.help) return null;
  const profiled = values.api === true && values.profile === true;
  const modes = (["history", "idle", "api", "board", "class", "memory", "profile"] as const).filter(
    (mode) => values[mode] && !(profiled && mode === "profile"),
  );
  if (modes.length > 1) throw new UsageError(`Choose one of ${modes.map((mode) => `--${mode}`).join(" and ")}.`);
  return {
    mode: modes[0] ?? "throughput",
    profiled,
    rounds: count("rounds", values.rounds) ?? 3,
    runs: count("runs", values.runs),
    only: values.only === undefined ? systemNames : chosen(values.only),
    json: values.json ?? null,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        history: { type: "boolean" },
        idle: { type: "boolean" },
        api: { type: "boolean" },
        board: { type: "boolean" },
        class: { type: "boolean" },
        memory: { type: "boolean" },
        profile: { type: "boolean" },
        runs: { type: "string" },
        rounds: { type: "string" },
        only: { type: "string" },
        json: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function count(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new UsageError(`--${name} must be a whole number from 1, not '${text}'.`);
  return Number(text);
}

function chosen(text: string): SystemName[] {
  return text.split(",").map((name) => {
    const known = systemNames.find((system) => system === name.trim());
    if (known === undefined) throw new UsageError(`--only knows ${systemNames.join(", ")}, not '${name.trim()}'.`);
    return known;
  });
}
