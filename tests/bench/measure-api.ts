/** Starts over HTTP at a given rate while a worker runs them: how long the API takes to accept one, and whether all of them were. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@markmill/contract";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals } from "./table.ts";

const perSecond = 500;
const seconds = 20;
const mostP99Ms = 100;

export interface ApiLoad {
  readonly accepted: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureApi(services: Services, progress: (line: string) => void): Promise<ApiLoad> {
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
  const members: ChildProcess[] = [];
  const member = async (app: string): Promise<string> => {
    const main = fileURLToPath(new URL(`../../apps/${app}/src/main.ts`, import.meta.url));
    const child = spawn(process.execPath, [main, "--no-env-file"], {
      env,
      cwd: tmpdir(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    members.push(child);
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
    const body = JSON.stringify({ definition: hash });
    const agent = new Agent({ keepAlive: true, maxSockets: 128 });
    const start = (at: number) => accepted(agent, url, token, body).then((ok) => ({ ok, ms: performance.now() - at }));
    // Code and connections are warm.
    for (let warm = 0; warm < 200; warm += 1) await start(performance.now());
    progress(`${perSecond} starts/s for ${seconds} s`);
    const begun = performance.now();
    const answers: Promise<{ readonly ok: boolean; readonly ms: number }>[] = [];
    // By the clock, not by the answers: a server that is slow has more to do at once, not less.
    while (answers.length < perSecond * seconds) {
      const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - begun) / 1000) * perSecond));
      while (answers.length < due) answers.push(start(begun + (answers.length / perSecond) * 1000));
      await sleep(1);
    }
    const all = await Promise.all(answers);
    agent.destroy();
    const times = all.map(({ ms }) => ms).sort((a, b) => a - b);
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    const count = all.filter(({ ok }) => ok).length;
    const goals: Goal[] = [
      { text: "every start is accepted", figure: `${count} of ${all.length}`, met: count === all.length },
      { text: `p99 under ${mostP99Ms} ms`, figure: `${formatNumber(at(0.99), 1)} ms`, met: at(0.99) < mostP99Ms },
    ];
    const head = `${perSecond} starts/s over HTTP for ${seconds} s, a worker at work: p50 ${formatNumber(at(0.5), 1)} ms, p99 ${formatNumber(at(0.99), 1)} ms, longest ${formatNumber(at(1), 1)} ms`;
    const text = `${head}\n\n${renderGoals(goals)}`;
    return { accepted: count, failed: all.length - count, p50: at(0.5), p99: at(0.99), goals, text };
  } finally {
    for (const child of members) child.kill("SIGKILL");
    await Promise.all(
      members.map((child) => (child.exitCode === null && child.signalCode === null ? once(child, "exit") : null)),
    );
    await database.drop();
  }
}

function accepted(agent: Agent, url: string, token: string, body: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "idempotency-key": crypto.randomUUID(),
    };
    const asked = request(`${url}/v1/runs`, { method: "POST", agent, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode === 201));
    });
    asked.on("error", () => resolve(false));
    asked.end(body);
  });
}
