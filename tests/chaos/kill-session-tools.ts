/**
 * kill -9 of the worker around tool calls that act in the run's session: the run goes on, no reply is paid for twice, and the workspace holds
 * each effect once although no tool is marked safe to repeat. Without a checkpoint nobody knows, and nothing is repeated.
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
/** Names the servers of this file among all others on the machine. */
const own = `own-${process.pid}`;
const byCommand = (more = "", repeat = "") => `---
tools:
  add: { description: Adds a line., command: "echo {{line}} >> added", schema: { type: object, properties: { line: { type: string } } }${repeat} }
${more}---
`;
const byServer = (more = "") => `---
mcp: { s: { command: [node, server.mjs, ${own}${more}], tools: [add, { name: wait, timeout: 4m }] } }
---
`;
const chart = 'START --> PROMPT_A["Prompt: User A"] --> EXECUTE_E["Execute: cat added"] --> SUCCESS';

async function servers(): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    if (line.startsWith(`node\0server.mjs\0${own}\0`)) found.push(Number(pid));
  }
  return found;
}

/** Those whose call has begun: it added its line, and waits. */
async function waiting(): Promise<number[]> {
  const lines = await Promise.all(
    (await servers()).map(async (pid) => ({
      pid,
      added: await readFile(`/proc/${pid}/cwd/added`, "utf8").catch(() => ""),
    })),
  );
  return lines.filter(({ added }) => added.includes("b")).map(({ pid }) => pid);
}

export function killDuringSessionTools(sandbox: "none" | "jail"): void {
  let mill: Mill;
  let blob = "";
  beforeAll(async () => {
    const environment = { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500", TOOL_TIMEOUT_MS: "120000" };
    mill = await startMill({
      ...{ backend: "postgres", script, worker: false, environment },
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
    await mill.queues.ring(created.rings);
    return created.runId;
  }
  /** Another worker goes on with the run to its end. */
  async function ended(runId: string, begun?: () => Promise<void>) {
    const rest = begun ?? (await mill.work());
    const run = await mill.ended(runId);
    await rest();
    expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
    const rows = await mill.store.as(defaultTenant).runs.toolCalls(runId);
    return { ...run, rows: rows.map(({ name, state }) => [name, state]) };
  }

  // A session is used as by EXECUTE, whose deaths at all points are tried in kill-commands; here some of them, between two of the tool's.
  const inSession = ["after-begin", "in-checkpoint"];
  const inAny = ["before-begin", "after-commands", "after-checkpoint"];
  const points = [
    ...[...inSession, ...(inject("thorough") ? inAny : [])].map((killInSession) => ({ killInSession })),
    ...["tool-begun", "tool-performed", "tool-ended"].map((point) => ({ killAt: { point, kind: "prompt", times: 2 } })),
    { killAt: { point: "after-work", kind: "prompt" } },
  ];
  // The points are the worker's own, whatever the sandbox: once is enough.
  for (const point of sandbox === "none" ? points : []) {
    it(`at ${"killInSession" in point ? point.killInSession : point.killAt.point}: each effect once`, async () => {
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

  it("in the middle of a call of a server in the session: it is ended, and each effect is there once", async () => {
    const victim = await worker();
    const runId = await start("by server", byServer());
    await until(async () => (await waiting()).length > 0);
    const interrupted = await waiting();
    await victim.kill();
    const rest = await mill.work();
    await until(async () => {
      const again = (await waiting()).find((pid) => !interrupted.includes(pid));
      if (again === undefined) return false;
      process.kill(again, "SIGUSR2");
      return true;
    });
    expect(await ended(runId, rest)).toMatchObject({
      status: "success",
      result: "$ cat added\na\nb\nc\n",
      rows: [
        ["s: tools/list", "done"],
        ["s__add", "done"],
        ["s__wait", "done"],
        ["s__add", "done"],
      ],
    });
    expect(await servers()).toEqual([]);
  });

  it("in the middle of a listing: the server that does not go is ended before the next one", async () => {
    const victim = await worker();
    const runId = await start("by server", byServer(", stuck-once"));
    await until(async () => {
      const listing = (await servers()).map((pid) => access(`/proc/${pid}/cwd/listing`));
      return (await Promise.allSettled(listing)).some(({ status }) => status === "fulfilled");
    });
    const [stuck] = await servers();
    await victim.kill();
    const rest = await mill.work();
    await until(async () => (await waiting()).some((pid) => pid !== stuck));
    const left = await servers();
    expect(left).not.toContain(stuck);
    for (const pid of left) process.kill(pid, "SIGUSR2");
    expect(await ended(runId, rest)).toMatchObject({ status: "success", result: "$ cat added\na\nb\nc\n" });
  });

  const unlessJail = it.skipIf(sandbox === "jail");
  async function withoutCheckpoints(repeat: string) {
    const victim = await worker({ killAt: { point: "tool-performed", kind: "prompt" } });
    const runId = await start("by command", byCommand("sandbox: { checkpoint: false }\n", repeat));
    await victim.exited;
    return await ended(runId);
  }

  unlessJail("without checkpoints: the run says that it does not know, and repeats nothing", async () => {
    const run = await withoutCheckpoints("");
    expect(run).toMatchObject({ status: "failed", reason: { code: "OUTCOME_UNKNOWN" }, rows: [["add", "begun"]] });
  });

  unlessJail("without checkpoints, but marked safe: it is repeated on what is there", async () => {
    const run = await withoutCheckpoints(", repeat: safe");
    expect(run).toMatchObject({ status: "success", result: "$ cat added\na\na\nb\nc\n" });
  });
}
