/**
 * Does the memory of the processes stay flat over a thousand submissions? The shipped API, worker and supervisor take classes of a hundred
 * works, one after the other; every class has a definition of its own, and every fifth runs commands in sessions of the jail. After each
 * class every process collects its garbage and says what is left (memory-probe.mjs).
 *
 * The first third is the warm-up: pools, compiled code and caches with a bound fill there. Judged is by how much the mean of the last third
 * is above the mean of the middle third.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@markmill/contract";
import { createJailSandbox } from "@markmill/sandbox";
import { packFiles } from "../../packages/sandbox/src/pack-files.ts";
import { classRubric, memberOf } from "../support/class.ts";
import type { NewWork } from "../support/store.ts";
import { openStore, type Store } from "../support/store.ts";
import { compileText } from "./markmill/workflow.ts";
import { startModel } from "./model-process.ts";
import { shipProcesses } from "./shipped-processes.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, type Goal, renderGoals, renderTable } from "./table.ts";

const perClass = 100;
const sessionsEvery = 5;
/** Of the heap after a collection, and of what the process has from the kernel, which moves in larger steps. */
const mostGrowth = { heapUsed: 0.03, rss: 0.08 };

interface Reading {
  readonly pid: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

export interface MemoryGrowth {
  readonly works: number;
  readonly readings: readonly Readonly<Record<string, Reading>>[];
  readonly goals: readonly Goal[];
  readonly text: string;
}

export async function measureMemory(
  services: Services,
  works: number,
  progress: (line: string) => void,
): Promise<MemoryGrowth> {
  const jail = await createJailSandbox({ root: "/nonexistent" }).then(
    () => true,
    () => false,
  );
  if (!jail) progress("this machine has no jail: sessions are left out");
  const database = await services.freshDatabase();
  const home = await mkdtemp(join(tmpdir(), "markmill-memory-"));
  const file = join(home, "readings");
  const model = await startModel(20, "The loop is right, and the names say what they hold.");
  const processes = shipProcesses({
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: services.redisUrl,
      QUEUE_BACKEND: "redis",
      SANDBOX: jail ? "jail" : "none",
      SANDBOX_ACCEPT: "no-cgroup",
      MARKMILL_HOME: join(home, "home"),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "bench",
      DEFAULT_MODEL: "scripted",
      MEMORY_PROBE: file,
      API_PORT: "0",
      API_RATE_PER_MINUTE: "10000000",
    },
    flags: ["--import", fileURLToPath(new URL("memory-probe.mjs", import.meta.url))],
  });
  let store: Store | null = null;
  try {
    store = await openStore({ url: database.url, worker: "bench" });
    const { said } = await processes.start("api");
    const client = createClient({
      url: /"url":"([^"]+)"/.exec(said)?.[1] ?? "",
      token: /mm_[\w-]+/.exec(said)?.[0] ?? "",
    });
    await processes.start("worker");
    await processes.start("supervisor");
    const names = new Map(Object.entries(processes.pids).map(([name, pid]) => [pid, name]));
    const readings: Record<string, Reading>[] = [];
    let savedMs = 0;
    for (let number = 1; number * perClass <= works; number++) {
      savedMs += await gradeClass(store, client, number, jail && number % sessionsEvery === 0);
      readings.push(await readMemory(names, file, readings.length));
      const told = Object.entries(readings.at(-1) ?? {}).map(
        ([name, { heapUsed, rss }]) => `${name} ${megabytes(heapUsed)} of ${megabytes(rss)}`,
      );
      progress(`${number * perClass} works: ${told.join(", ")} MB`);
    }
    return report(works, readings, savedMs);
  } finally {
    await processes.stop();
    await store?.close();
    await model.stop();
    await database.drop();
    await rm(home, { recursive: true, force: true });
  }
}

/** Returns how long it took to save. Progress is asked for over HTTP, as a page that follows a class does. */
async function gradeClass(
  store: Store,
  client: ReturnType<typeof createClient>,
  number: number,
  sessions: boolean,
): Promise<number> {
  const tenant = store.as("default");
  const definition = compileText(workflowOf(number, sessions));
  const works: NewWork[] = [];
  for (let one = 1; one <= perClass; one++) {
    const bytes = Buffer.from(`// work ${one} of class ${number}\n${"let x = 1;\n".repeat(200)}`);
    const tar = await packFiles({ kind: "list", files: [{ path: "main.js", mode: 0o644, bytes }] }, 1 << 20);
    const { hash } = await tenant.blobs.save(tar);
    works.push({
      key: memberOf(one).key,
      by: [memberOf(one).key],
      group: null,
      attempt: 1,
      counts: true,
      label: String(one),
      sources: [`${one}.zip`],
      submittedAt: null,
      lateness: { is: "on time" },
      content: { is: "taken", hash, files: 1, bytes: tar.length, paths: ["main.js"], notes: [] },
    });
  }
  const began = performance.now();
  const { id } = await tenant.batches.save({
    key: `class-${number}`,
    name: `Class ${number}`,
    definition,
    rubric: classRubric,
    works,
    settings: { run: {}, late: null, aiConsent: "any", language: null },
    members: works.map((_, index) => memberOf(index + 1)),
    concurrency: 16,
  });
  const savedMs = performance.now() - began;
  for (;;) {
    const { counts } = await client.getBatch({ params: { id } });
    if (counts.failed > 0) throw new Error(`${counts.failed} works of class ${number} failed`);
    if (counts.succeeded === perClass) return savedMs;
    await sleep(200);
  }
}

function workflowOf(number: number, sessions: boolean): string {
  const steps = [
    ["SET_1", `Set: CLASS='${number}'`],
    ["PROMPT_1", "Prompt: Look"],
    ...(sessions ? [["EXECUTE_1", "Execute: Count"]] : []),
    ["PROMPT_2", "Prompt: Say more"],
  ] as const;
  const edges = steps.map(([id, caption], index) => `${steps[index - 1]?.[0] ?? "START"} --> ${id}["${caption}"]`);
  const chart = [...edges, "PROMPT_2 --> SUCCESS"].join("\n");
  const texts =
    "## Look\n\nLook at the work.\n\n## Say more\n\nSay more about it.\n\n## Count\n\n```bash\nwc -l main.js\n```\n";
  return `# Class ${number}\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${chart}\n\`\`\`\n\n# Prompts\n\n${texts}`;
}

async function readMemory(
  names: ReadonlyMap<number, string>,
  file: string,
  before: number,
): Promise<Record<string, Reading>> {
  // What the class left to do (sessions, notifications) is over by then.
  await sleep(1_500);
  for (const pid of names.keys()) process.kill(pid, "SIGUSR2");
  for (let look = 0; look < 200; look++) {
    await sleep(50);
    const text = await readFile(file, "utf8").catch(() => "");
    const lines = text.split("\n").filter(Boolean);
    if (lines.length < (before + 1) * names.size) continue;
    const read = lines.slice(-names.size).map((line) => JSON.parse(line) as Reading);
    return Object.fromEntries(read.map((reading) => [names.get(reading.pid) ?? "", reading]));
  }
  throw new Error("a process does not say how much memory it has");
}

function report(works: number, readings: readonly Readonly<Record<string, Reading>>[], savedMs: number): MemoryGrowth {
  const names = Object.keys(readings[0] ?? {}).sort();
  const third = Math.floor(readings.length / 3);
  const of = (name: string, what: "heapUsed" | "rss") => readings.map((reading) => reading[name]?.[what] ?? 0);
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const goals = names.flatMap((name) =>
    (["heapUsed", "rss"] as const).map((what): Goal => {
      const values = of(name, what);
      const middle = mean(values.slice(third, readings.length - third));
      const growth = mean(values.slice(readings.length - third)) / middle - 1;
      const text = `${name}: ${what === "rss" ? "memory of the process" : "heap"} grows by at most ${100 * mostGrowth[what]} % from the middle third to the last`;
      return { text, figure: `${formatNumber(100 * growth, 1)} %`, met: growth <= mostGrowth[what] };
    }),
  );
  const table = renderTable([
    ["works", ...names.flatMap((name) => [`${name} heap`, "rss MB"])],
    ...readings.map((reading, index) => [
      formatNumber((index + 1) * perClass, 0),
      ...names.flatMap((name) => [megabytes(reading[name]?.heapUsed ?? 0), megabytes(reading[name]?.rss ?? 0)]),
    ]),
  ]);
  const saved = `${formatNumber(works, 0)} works were enqueued in ${formatNumber(savedMs / 1_000, 2)} s in all`;
  goals.push({
    text: "1,000 works are enqueued in seconds",
    figure: `${formatNumber((savedMs / 1_000) * (1_000 / works), 2)} s`,
    met: (savedMs / 1_000) * (1_000 / works) < 10,
  });
  return { works, readings, goals, text: `${table}\n${saved}\n\n${renderGoals(goals)}` };
}

function megabytes(bytes: number): string {
  return formatNumber(bytes / 1_048_576, 1);
}
