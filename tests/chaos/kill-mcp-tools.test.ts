/**
 * kill -9 around the listing and the calls of an MCP server whose tools have new texts when the activity is repeated. No reply is paid
 * twice, because the stored listing gives the same request again. No call is repeated unless it is marked safe.
 */
import type { Program, Tool } from "@markmill/engine";
import { saying, startMcpServer, type TestingMcpServer } from "@markmill/tools/testing-mcp-server";
import { afterAll, beforeAll, beforeEach, expect, inject, it } from "vitest";
import { definition, program } from "../integration/store-programs.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { createRun, defaultTenant, replayRun } from "../support/store.ts";

const script = `
rules:
  - { when: { role: user }, calls: [{ name: s__act, arguments: { n: 1 } }] }
  - { when: { role: tool, turn: 2 }, calls: [{ name: s__act, arguments: { n: 2 } }] }
  - { when: { role: tool, turn: 3 }, reply: Done. }
`;
let mill: Mill;
let server: TestingMcpServer;
beforeAll(async () => {
  server = await startMcpServer({});
  const environment = { TOOL_ALLOW: server.address, LOCK_DURATION_MS: "1500", STALLED_INTERVAL_MS: "500" };
  mill = await startMill({ backend: "postgres", script, worker: false, environment });
});
afterAll(async () => {
  await mill?.close();
  await server?.close();
});
const describe = (description: string) =>
  server.tools.set("act", { description, call: ({ n }) => saying(`done ${String(n)}`) });
beforeEach(() => void describe("As it was."));

function acting(repeat: "safe" | "never"): Program {
  const act: Tool = {
    kind: "mcp",
    server: "s",
    tool: "act",
    description: "",
    schema: { type: "object" },
    ...(repeat === "safe" ? { repeat } : {}),
  };
  return program(
    {
      ask: { kind: "prompt", text: { from: "literal", text: "Act." }, tools: ["s__act"] },
      end: { kind: "end", outcome: "success" },
    },
    [{ from: "ask", to: "end", on: "ok" }],
    { tools: { s__act: act }, mcp: { s: { transport: "http", url: server.url } } },
  );
}

async function survive(main: Program, point: string, times: number) {
  const before = { requests: mill.requests().length, calls: server.calls().length };
  const victim = await mill.spawnWorker({ killAt: { point, kind: "prompt", times } });
  const { runId, jobs } = await createRun(mill.store, { definition: definition({ main }) });
  await mill.queues.enqueue(jobs);
  await victim.exited;
  describe("Quite another one.");
  const rest = await mill.work();
  const run = await mill.ended(runId);
  await rest();
  expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
  const rows = await mill.store.as(defaultTenant).runs.toolCalls(runId);
  const called = server.calls().slice(before.calls);
  return { run, paid: mill.requests().length - before.requests, rows, called: called.map(({ values }) => values.n) };
}

/** 1 is the listing, 2 and 3 are calls of the model: 2 is between its reply and the tool, or the tool and its next round. */
const all = [1, 2, 3].flatMap((times) =>
  (["tool-begun", "tool-performed", "tool-ended"] as const).map((point) => ({ point, times })),
);
const whole = [{ point: "after-work", times: 1 } as const, { point: "after-commit", times: 1 } as const];
// kill-tools.test.ts tests the repetition of calls, which is equal for every kind of tool. Only the listing is new here. At points where
// the safety mark matters, this file tests the kind of tool that the other file leaves out.
const safe = inject("thorough")
  ? [...all, ...whole]
  : ([
      { point: "tool-ended", times: 1 },
      { point: "tool-performed", times: 3 },
    ] as const);
const never = inject("thorough")
  ? all
  : ([
      { point: "tool-performed", times: 1 },
      { point: "tool-begun", times: 2 },
    ] as const);

/** A listing is repeated until its end is written, for every kind of tool. */
const listed = (point: string, times: number) =>
  times === 1 && (point === "tool-begun" || point === "tool-performed") ? "Quite another one." : "As it was.";

it.each(safe)(
  "kill -9 at $point, time $times, with a tool that is safe to repeat: the run ends as usual",
  async ({ point, times }) => {
    const { run, paid, rows } = await survive(acting("safe"), point, times);
    expect(run).toMatchObject({ status: "success", result: "Done.", spent: { calls: 3 } });
    expect(paid).toBe(3);
    expect(rows.map(({ callIndex, state }) => [callIndex, state])).toEqual([
      [-2, "done"],
      [0, "done"],
      [1, "done"],
    ]);
    expect(rows[0]?.result).toContain(listed(point, times));
  },
);

it.each(never)(
  "kill -9 at $point, time $times, calls no tool twice that is not safe to repeat",
  async ({ point, times }) => {
    const { run, paid, rows, called } = await survive(acting("never"), point, times);
    expect(rows[0]?.result).toContain(listed(point, times));
    expect(new Set(called).size).toBe(called.length);
    if (times > 1 && point !== "tool-ended") {
      expect(run).toMatchObject({ status: "failed", reason: { code: "OUTCOME_UNKNOWN" } });
      expect(paid).toBe(times - 1);
    } else {
      expect(run).toMatchObject({ status: "success", result: "Done.", spent: { calls: 3 } });
      expect([paid, called]).toEqual([3, [1, 2]]);
    }
  },
);
