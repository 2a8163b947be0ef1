/** Starts over HTTP at a given rate while a worker runs them: how long the API takes to accept one, and whether all of them were. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@markmill/contract";
import { cpuBetween, readCpu } from "./cpu-meter.ts";
import { openStarter } from "./http-starter.ts";
import { freshProfiles, summariseProfiles } from "./profile.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals } from "./table.ts";

const perSecond = 500;
const seconds = 20;
const mostP99Ms = 100;
const connections = 128;
/** Code and connections are warm: V8 compiles what is hot after some thousand calls. Half the rate, so that nothing piles up. */
const warmUpSeconds = 6;

export interface ApiLoad {
  readonly accepted: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  /** Of each second. */
  readonly p99BySecond: readonly number[];
  /** CPU time of a start and of all its run does, by process; null: not known. */
  readonly microsPerStart: Readonly<Record<string, number>> | null;
  /** Share of the machine that went to others. */
  readonly others: number | null;
  readonly goals: readonly Goal[];
  readonly text: string;
}

interface Start {
  readonly ok: boolean;
  readonly ms: number;
}

export async function measureStarts(
  services: Services,
  progress: (line: string) => void,
  profiled = false,
): Promise<ApiLoad> {
  const profiling = profiled ? ["--cpu-prof", `--cpu-prof-dir=${freshProfiles()}`] : [];
  const database = await services.freshDatabase();
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    REDIS_URL: services.redisUrl,
    QUEUE_BACKEND: "redis",
    API_PORT: "0",
    API_RATE_PER_MINUTE: "10000000",
    SANDBOX: "none",
    LOG_LEVEL: "info",
  };
  const members = new Map<string, ChildProcess>();
  const member = async (app: string): Promise<string> => {
    const main = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));
    const child = spawn(process.execPath, [...profiling, main, app, "--no-env-file"], {
      env,
      cwd: tmpdir(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    members.set(app, child);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes: Buffer) => {
        if (said.length < 100_000) said += bytes.toString();
      });
    }
    while (!said.includes(`${app} started`)) {
      if (child.exitCode !== null) throw new Error(`${app} ended: ${said}`);
      await sleep(50);
    }
    return said;
  };
  try {
    const said = await member("api");
    await member("worker");
    await member("supervisor");
    const url = /"url":"([^"]+)"/.exec(said)?.[1] ?? "";
    const token = /mm_[\w-]+/.exec(said)?.[0] ?? "";
    const client = createClient({ url, token });
    const chart = '```mermaid\nflowchart TD\n  START --> SET_A["SET: A = 1"] --> SET_B["SET: B = 2"] --> SUCCESS\n```';
    const files = { "load.wf.md": `# Load\n\n# Workflow\n\n${chart}\n` };
    const { hash } = await client.saveDefinition({ body: { root: "load.wf.md", files } });
    const starter = await openStarter(url, token, JSON.stringify({ definition: hash }), connections);

    /** By the clock, not by the answers: a server that is slow has more to do at once, not less. */
    const startAtRate = async (rate: number, duration: number): Promise<Start[]> => {
      const begun = performance.now();
      const answers: Promise<Start>[] = [];
      while (answers.length < rate * duration) {
        const due = Math.min(rate * duration, Math.floor(((performance.now() - begun) / 1000) * rate));
        while (answers.length < due) {
          const at = begun + (answers.length / rate) * 1000;
          answers.push(starter.post().then((ok) => ({ ok, ms: performance.now() - at })));
        }
        await sleep(1);
      }
      return await Promise.all(answers);
    };

    progress(`warming up for ${warmUpSeconds} s`);
    await startAtRate(perSecond / 2, warmUpSeconds);
    progress(`${perSecond} starts/s for ${seconds} s`);
    const processes = Object.fromEntries([...members].map(([app, { pid = 0 }]) => [app, pid]));
    const watched = { processes: { generator: process.pid, ...processes }, servers: services.pids };
    const from = Number(process.hrtime.bigint() / 1000n);
    const before = readCpu(watched);
    const all = await startAtRate(perSecond, seconds);
    const spent = cpuBetween(before, readCpu(watched));
    starter.close();
    const told = report(all, spent);
    if (!profiled) return told;
    await end(members, "SIGTERM");
    const names = new Map(Object.entries(processes).map(([app, pid]) => [pid, app]));
    return { ...told, text: `${told.text}\n\n${summariseProfiles(names, from)}` };
  } finally {
    await end(members, "SIGKILL");
    await database.drop();
  }
}

async function end(members: ReadonlyMap<string, ChildProcess>, signal: NodeJS.Signals): Promise<void> {
  for (const child of members.values()) child.kill(signal);
  await Promise.all(
    [...members.values()].map((child) =>
      child.exitCode === null && child.signalCode === null ? once(child, "exit") : null,
    ),
  );
}

function report(all: readonly Start[], spent: ReturnType<typeof cpuBetween>): ApiLoad {
  const p50 = share(all, 0.5);
  const p99 = share(all, 0.99);
  const p99BySecond = Array.from({ length: seconds }, (_, second) =>
    Math.round(share(all.slice(second * perSecond, (second + 1) * perSecond), 0.99)),
  );
  const count = all.filter(({ ok }) => ok).length;
  const microsPerStart =
    spent === null
      ? null
      : Object.fromEntries(Object.entries(spent.parts).map(([part, time]) => [part, Math.round(time / all.length)]));
  const others = spent?.others ?? null;
  const goals: Goal[] = [
    { text: "every start is accepted", figure: `${count} of ${all.length}`, met: count === all.length },
    { text: `p99 under ${mostP99Ms} ms`, figure: `${formatNumber(p99, 1)} ms`, met: p99 < mostP99Ms },
  ];
  const lines = [
    `${perSecond} starts/s over HTTP for ${seconds} s, a worker at work: p50 ${formatNumber(p50, 1)} ms, p99 ${formatNumber(p99, 1)} ms, longest ${formatNumber(share(all, 1), 1)} ms`,
    `p99 of each second: ${p99BySecond.join(" ")} ms`,
    ...(microsPerStart === null
      ? []
      : [
          `CPU of a start and its run of two steps: ${Object.entries(microsPerStart)
            .map(([part, micros]) => `${part} ${micros}`)
            .join(", ")} µs; others used ${formatNumber((others ?? 0) * 100, 1)} % of the machine`,
        ]),
  ];
  const text = `${lines.join("\n")}\n\n${renderGoals(goals)}`;
  return { accepted: count, failed: all.length - count, p50, p99, p99BySecond, microsPerStart, others, goals, text };
}

function share(starts: readonly Start[], part: number): number {
  const times = starts.map(({ ms }) => ms).sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
}
