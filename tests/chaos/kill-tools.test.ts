/**
 * kill -9 between any two lines of a tool call: no reply is paid twice, no tool is called twice unless it is marked safe, and a lost
 * outcome is reported as unknown.
 */
import type { Program, Tool } from "@markmill/engine";
import { startToolServer, type ToolServer } from "@markmill/tools/testing-tool-server";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { definition, program } from "../integration/store-programs.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { createRun, defaultTenant, replayRun } from "../support/store.ts";

const script = `
rules:
  - { when: { role: user }, calls: [{ name: act, arguments: { n: 1 } }, { name: act, arguments: { n: 2 } }] }
  - { when: { role: tool, turn: 2 }, calls: [{ name: act, arguments: { n: 3 } }] }
  - { when: { role: tool, turn: 3 }, reply: Done. }
`;
const toolCallsOf = (runId: string) => mill.store.as(defaultTenant).runs.toolCalls(runId);
let mill: Mill;
let server: ToolServer;
beforeAll(async () => {
  server = await startToolServer();
  const environment = { TOOL_ALLOW: server.address, LOCK_DURATION_MS: "1500", STALLED_INTERVAL_MS: "500" };
  mill = await startMill({ backend: "postgres", script, worker: false, environment });
});
afterAll(async () => {
  await mill?.close();
  await server?.close();
});

function acting(repeat: "safe" | "never", path: string): Program {
  const act: Tool = {
    kind: "http",
    method: "POST",
    url: server.url + path,
    description: "",
    schema: { type: "object" },
    ...(repeat === "safe" ? { repeat } : {}),
  };
  return program(
    {
      ask: { kind: "prompt", text: { from: "literal", text: "Act." }, tools: ["act"] },
      end: { kind: "end", outcome: "success" },
    },
    [{ from: "ask", to: "end", on: "ok" }],
    { tools: { act } },
  );
}

async function survive(main: Program, point: string) {
  const before = mill.requests().length;
  const victim = await mill.spawnWorker({ killAt: { point, kind: "prompt" } });
  const { runId, jobs } = await createRun(mill.store, { definition: definition({ main }) });
  await mill.queues.enqueue(jobs);
  await victim.exited;
  const rest = await mill.work();
  const run = await mill.ended(runId);
  await rest();
  expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
  return { run, paid: mill.requests().length - before, rows: await toolCallsOf(runId) };
}

const points = ["after-claim", "tool-begun", "tool-performed", "tool-ended", "after-work", "after-commit"] as const;
/**
 * Each point between the first call and the commit is tested with one kind of tool. kill-mcp-tools tests the other kind where that matters.
 * kill-worker tests the points before and after, which every activity has.
 */
const pointsOf = (...some: (typeof points)[number][]) => (inject("thorough") ? points : some);

it.each(pointsOf("tool-begun"))(
  "kill -9 at %s with tools that are safe to repeat: the run ends as usual",
  async (point) => {
    const { run, paid, rows } = await survive(acting("safe", `/safe/${point}`), point);
    expect(run).toMatchObject({ status: "success", result: "Done.", spent: { calls: 3 } });
    expect(paid).toBe(3);
    expect(rows.map(({ callIndex, position, state }) => [callIndex, position, state])).toEqual([
      [0, 0, "done"],
      [0, 1, "done"],
      [1, 0, "done"],
    ]);
  },
);

it.each(pointsOf("tool-performed", "tool-ended", "after-work"))(
  "kill -9 at %s with tools that are not safe to repeat: no tool is called twice",
  async (point) => {
    const path = `/never/${point}`;
    const { run, paid, rows } = await survive(acting("never", path), point);
    const bodies = server.requests(path).map(({ body }) => body);
    expect(new Set(bodies).size).toBe(bodies.length);
    const interrupted = rows.some(({ state }) => state === "begun");
    if (interrupted) {
      // The other call of the reply had started too, or has ended.
      expect(run).toMatchObject({ status: "failed", reason: { code: "OUTCOME_UNKNOWN" }, spent: { calls: 1 } });
      expect(paid).toBe(1);
    } else {
      expect(run).toMatchObject({ status: "success", result: "Done.", spent: { calls: 3 } });
      expect(paid).toBe(3);
      expect(bodies).toHaveLength(3);
    }
    expect(["tool-begun", "tool-performed"].includes(point) ? interrupted : true).toBe(true);
  },
);
