/**
 * Between the benchmark and one system under test: a line of JSON each way over stdin and stdout, so that no two systems share an
 * event loop. The system is told to start, answers with its processes, works through loads one after the other, and stops.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

export interface Start {
  readonly do: "start";
  /** A database of this system's own, empty. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Nobody else's keys in Redis begin with it. */
  readonly prefix: string;
  readonly queue: "redis" | "postgres";
  readonly workload: Workload;
  /** Where CPU profiles go; null: none are taken. */
  readonly profiles: string | null;
}

export type Workload = { readonly kind: "chain"; readonly steps: number } | { readonly kind: "ask" };

export interface Load {
  readonly do: "load";
  readonly runs: number;
  readonly inFlight: number;
}

export type Order = Start | Load | { readonly do: "count" } | { readonly do: "stop" };

export interface Loaded {
  /** From the first run's start to the last run's end. */
  readonly ms: number;
  /** Of each run, in order of ending, without what a system does before the run can make its first step. */
  readonly runMs: readonly number[];
}

/** Asked for after a load, so that looking is not measured with it. */
export interface Counted {
  /** Steps on disk so far, counted in the database; null: this system keeps none. */
  readonly durableSteps: number | null;
  /** Handlers that hold a worker's slot now. */
  readonly activeSlots: number | null;
}

export type Reply =
  | { readonly ready: Readonly<Record<string, number>> }
  | { readonly loaded: Loaded }
  | { readonly counted: Counted }
  | { readonly stopped: true }
  | { readonly failed: string };

/** What a system is, seen from here. */
export interface System {
  /** By name: the processes whose time counts as this system's, servers excepted. */
  readonly pids: Readonly<Record<string, number>>;
  /** One run from start to end (or until it waits). `created`: it exists, and its steps begin. */
  run(created: () => void): Promise<void>;
  durableSteps(): Promise<number | null>;
  activeSlots?(): Promise<number>;
  close(): Promise<void>;
}

/** The whole life of a system's process. Its stdout belongs to the protocol. */
export async function serveSystem(open: (start: Start) => Promise<System>): Promise<void> {
  let system: System | null = null;
  try {
    for await (const line of createInterface({ input: process.stdin })) {
      const order: Order = JSON.parse(line);
      if (order.do === "start") {
        system = await open(order);
        say({ ready: system.pids });
      } else if (order.do === "stop" || system === null) break;
      else if (order.do === "count") say({ counted: await count(system) });
      else say({ loaded: await work(system, order) });
    }
    await system?.close();
    say({ stopped: true });
  } catch (error) {
    say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    process.exitCode = 1;
  }
  process.stdin.destroy();
}

/** Without all its processes a system cannot end what it began. */
export function abandon(reason: string): never {
  writeSync(process.stdout.fd, `${JSON.stringify({ failed: reason } satisfies Reply)}\n`);
  process.exit(1);
}

function say(reply: Reply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

/** A closed loop: `inFlight` runs at any time, the next begins when one has ended. */
async function work(system: System, { runs, inFlight }: Load): Promise<Loaded> {
  const runMs: number[] = [];
  let left = runs;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: Math.min(runs, inFlight) }, async () => {
      while (left > 0) {
        left -= 1;
        let from = performance.now();
        await system.run(() => {
          from = performance.now();
        });
        runMs.push(performance.now() - from);
      }
    }),
  );
  return { ms: performance.now() - began, runMs };
}

async function count(system: System): Promise<Counted> {
  const activeSlots = (await system.activeSlots?.()) ?? null;
  return { durableSteps: await system.durableSteps(), activeSlots };
}
