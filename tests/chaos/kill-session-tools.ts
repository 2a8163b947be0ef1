/**
 * kill -9 of the worker around tool calls with effects in the run's session: the run continues, no reply is paid twice, and the workspace
 * contains each effect once although no tool is marked safe. Without a checkpoint the outcome is unknown, and nothing is repeated.
 */
import { access, readdir, readFile } from "node:fs/promises";
import { createJailSandbox } from "@markmill/sandbox";
import { afterAll, afterEach, beforeAll, expect, inject, it } from "vitest";
import { submissionWithServer } from "../support/bundle-stdio-server.ts";
import {
  definitionOf,
  type Mill,
  type SpawnedWorker,
  type SpawnOptions,
  startMill,
  workflow,
} from "../support/mill.ts";
import { createRun, defaultTenant, replayRun, saveBlob } from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
rules:
  - { when: { role: user, text: by command }, calls: [{ name: add, arguments: { line: a } }, { name: add, arguments: { line: b } }] }
  - { when: { role: tool, turn: 2, text: echo b }, calls: [{ name: add, arguments: { line: c } }] }
  - { when: { role: user, text: by server }, calls: [{ name: s__add, arguments: { line: a } }, { name: s__wait, arguments: { line: b } }, { name: s__add, arguments: { line: c } }] }
  - { when: { role: tool }, reply: Done. }
`;
/** Names of this file's servers, unique on the machine: servers whose call waits, and servers whose first listing does not end. */
const own = { calling: `calling-${process.pid}`, listing: `listing-${process.pid}` } as const;
const byCommand = (more = "", repeat = "") => `---
tools:
  add: { description: Adds a line., command: "echo {{line}} >> added", schema: { type: object, properties: { line: { type: string } } }${repeat} }
${more}---
`;
const byServer = (words: string) => `---
mcp: { s: { command: [node, server.mjs, ${words}], tools: [add, { name: wait, timeout: 4m }] } }
---
`;
const chart = 'START --> PROMPT_A["Prompt: User A"] --> EXECUTE_E["Execute: cat added"] --> SUCCESS';

async function servers(name: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    if (line.startsWith(`node\0server.mjs\0${name}\0`)) found.push(Number(pid));
  }
  return found;
}

/** Servers whose call has started: it added its line, and waits. */
async function waiting(name: string): Promise<number[]> {
  const lines = await Promise.all(
    (await servers(name)).map(async (pid) => ({
      pid,
      added: await readFile(`/proc/${pid}/cwd/added`, "utf8").catch(() => ""),
    })),
  );
  return lines.filter(({ added }) => added.includes("b")).map(({ pid }) => pid);
}

/** Each check reads all processes of the machine. */
const seldom = { everyMs: 250 };

/**
 * points: cases of the worker alone, equal in every sandbox. servers: what happens to a server in the session, which depends on the
 * sandbox.
 */
export function killDuringSessionTools(sandbox: "none" | "jail", cases: readonly ("points" | "servers")[]): void {
  let mill: Mill;
  let blob = "";
  beforeAll(async () => {
    const environment = { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500", TOOL_TIMEOUT_MS: "120000" };
    mill = await startMill({
      backend: "postgres",
      script,
      worker: false,
      environment,
      ...(sandbox === "jail" ? { sandbox: (root) => createJailSandbox({ root }) } : {}),
    });
    blob = (await saveBlob(mill.store, await submissionWithServer())) as string;
  });
  afterAll(() => mill?.close());
  const spawned: SpawnedWorker[] = [];
  async function worker(more: SpawnOptions = {}): Promise<SpawnedWorker> {
    const one = await mill.spawnWorker({ sandbox, ...more });
    spawned.push(one);
    return one;
  }
  afterEach(async () => {
    for (const { process, kill } of spawned.splice(0)) {
      if (process.exitCode === null && process.signalCode === null) await kill();
    }
  });

  async function start(text: string, head = byCommand()): Promise<string> {
    const definition = definitionOf({ "a.wf.md": head + workflow(chart, { "User A": text }) });
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    return created.runId;
  }
  /** Another worker continues the run to its end. */
  async function ended(runId: string, begun?: () => Promise<void>) {
    const rest = begun ?? (await mill.work());
    const run = await mill.ended(runId);
    await rest();
    expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
    const rows = await mill.store.as(defaultTenant).runs.toolCalls(runId);
    return { ...run, rows: rows.map(({ name, state }) => [name, state]) };
  }

  // The session is used as by EXECUTE, and kill-commands tests all its points. The calls are recorded like those of other tools, which
  // kill-tools tests. This file tests the points where session and record disagree.
  const usual = [
    { killInSession: "in-checkpoint" },
    ...["tool-performed", "tool-ended"].map((point) => ({ killAt: { point, kind: "prompt", times: 2 } })),
  ];
  const further = [
    ...["before-begin", "after-begin", "after-commands", "after-checkpoint"].map((killInSession) => ({
      killInSession,
    })),
    { killAt: { point: "tool-begun", kind: "prompt", times: 2 } },
    { killAt: { point: "after-work", kind: "prompt" } },
  ];
  const points = inject("thorough") ? [...usual, ...further] : usual;
  for (const point of cases.includes("points") ? points : []) {
    it(`at ${"killInSession" in point ? point.killInSession : point.killAt.point}: each effect happens once`, async () => {
      const before = mill.requests().length;
      const victim = await worker(point);
      const runId = await start("by command");
      await victim.exited;
      const run = await ended(runId);
      expect(run).toMatchObject({ status: "success", result: "$ cat added\na\nb\nc\n", spent: { calls: 3 } });
      expect(mill.requests().length - before).toBe(3);
      expect(run.rows).toEqual([
        ["add", "done"],
        ["add", "done"],
        ["add", "done"],
      ]);
    });
  }

  it.runIf(cases.includes("servers"))(
    "in the middle of a call of one server and of the listing of another: both servers are ended, and each effect happens once",
    async () => {
      const victim = await worker();
      const calling = await start("by server", byServer(own.calling));
      const listing = await start("by server", byServer(`${own.listing}, stuck-once`));
      await until(async () => (await waiting(own.calling)).length > 0, seldom);
      await until(async () => {
        const begun = (await servers(own.listing)).map((pid) => access(`/proc/${pid}/cwd/listing`));
        return (await Promise.allSettled(begun)).some(({ status }) => status === "fulfilled");
      }, seldom);
      const interrupted = await waiting(own.calling);
      const [stuck] = await servers(own.listing);
      await victim.kill();
      const rest = await mill.work();
      await until(async () => {
        const again = (await waiting(own.calling)).find((pid) => !interrupted.includes(pid));
        if (again === undefined) return false;
        process.kill(again, "SIGUSR2");
        return true;
      }, seldom);
      await until(async () => (await waiting(own.listing)).some((pid) => pid !== stuck), seldom);
      const left = await servers(own.listing);
      expect(left).not.toContain(stuck);
      for (const pid of left) process.kill(pid, "SIGUSR2");
      const result = "$ cat added\na\nb\nc\n";
      expect(await mill.ended(listing)).toMatchObject({ status: "success", result });
      const rows = [
        ["s: tools/list", "done"],
        ["s__add", "done"],
        ["s__wait", "done"],
        ["s__add", "done"],
      ];
      expect(await ended(calling, rest)).toMatchObject({ status: "success", result, rows });
      expect(await ended(listing, async () => undefined)).toMatchObject({ status: "success", result, rows });
      expect(await servers(own.calling)).toEqual([]);
    },
  );

  const decided = it.runIf(cases.includes("points"));
  async function withoutCheckpoints(repeat: string) {
    const victim = await worker({ killAt: { point: "tool-performed", kind: "prompt" } });
    const runId = await start("by command", byCommand("sandbox: { checkpoint: false }\n", repeat));
    await victim.exited;
    return await ended(runId);
  }

  decided("without checkpoints: the run reports an unknown outcome, and repeats nothing", async () => {
    const run = await withoutCheckpoints("");
    expect(run).toMatchObject({ status: "failed", reason: { code: "OUTCOME_UNKNOWN" }, rows: [["add", "begun"]] });
  });

  decided("without checkpoints, but safe to repeat: the tool is called again on the current files", async () => {
    const run = await withoutCheckpoints(", repeat: safe");
    expect(run).toMatchObject({ status: "success", result: "$ cat added\na\na\nb\nc\n" });
  });
}
