/** `npm run bench`: see README.md beside this file. Figures on stdout, progress on stderr. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { installPeers } from "./install-peers.ts";
import { measureBoard } from "./measure-board.ts";
import { measureClasses } from "./measure-class.ts";
import { measureHistory } from "./measure-history.ts";
import { measureIdle } from "./measure-idle.ts";
import { measureMemory } from "./measure-memory.ts";
import { measureStarts } from "./measure-starts.ts";
import { measureThroughput } from "./measure-throughput.ts";
import { help, type Options, readOptions, UsageError } from "./options.ts";
import { profile } from "./profile.ts";
import { type Services, startServices } from "./start-services.ts";
import { systems } from "./systems.ts";

const progress = (line: string) => process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(help);
    return;
  }
  if (options.mode === "throughput" && options.only.some((name) => systems[name].peer)) installPeers(progress);
  const services = await startServices();
  try {
    const machine = describeMachine(services);
    progress(machine);
    const result = await measure(services, options);
    process.stdout.write(`${machine}\n\n${result.text}\n`);
    if (options.json !== null) {
      const file = resolve(options.json);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify({ machine, options, ...result }, null, 2)}\n`);
    }
  } finally {
    await services.stop();
  }
}

async function measure(services: Services, options: Options): Promise<{ readonly text: string }> {
  const { mode, profiled, rounds, runs, only } = options;
  switch (mode) {
    case "throughput":
      return measureThroughput(services, only, runs ?? 4_000, rounds, progress);
    case "history":
      return measureHistory(services, runs ?? 32, rounds, progress);
    case "api":
      return measureStarts(services, progress, profiled);
    case "board":
      return measureBoard(services, runs ?? 20_000, rounds, progress);
    case "class":
      return measureClasses(services, only, runs, rounds, progress);
    case "idle":
      return measureIdle(services, runs ?? 1_000, progress);
    case "memory":
      return measureMemory(services, runs ?? 1_000, progress);
    case "profile":
      return { text: await profile(services, only[0] === "markmill-postgres" ? "postgres" : "redis", runs ?? 4_000) };
  }
}

function describeMachine({ versions }: Services): string {
  const processors = cpus();
  const load = loadavg()[0]?.toFixed(1);
  return `Node ${process.versions.node}, Postgres ${versions.postgres}, Redis ${versions.redis}, ${processors.length} x ${processors[0]?.model.trim()}, load ${load}`;
}

try {
  // The sandbox has a benchmark of its own, against bare `docker exec` and `docker run`.
  if (process.argv.includes("--sandbox")) await import("./sandbox.bench.ts");
  else await main();
} catch (error) {
  const usage = error instanceof UsageError;
  progress(usage ? `${error.message}\n\n${help}` : String(error instanceof Error ? error.stack : error));
  process.exitCode = usage ? 2 : 1;
}
