/**
 * kill -9 between any two lines of a workflow that a model calls as a tool, in the caller, in the call and while the callee runs: no reply is
 * paid for twice, one child run is made, and the run ends as if nothing had been.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { childRuns, createRun, defaultTenant, replayRun } from "../support/store.ts";

const script = `
rules:
  - { when: { role: user, text: Ask. }, calls: [{ name: look, arguments: { WHAT: it } }] }
  - { when: { role: user, text: Find it. }, reply: found }
  - { when: { role: tool, text: found }, reply: Done. }
`;
const files = {
  "main.wf.md": workflow(
    "START --> PROMPT_A[Prompt: User A]",
    { "User A": "Ask." },
    "---\ntools: { look: { workflow: look.wf.md } }\n---\n",
  ),
  "look.wf.md": workflow('PARAMS["WHAT"]\nSTART --> PROMPT_L[Prompt: User L]', { "User L": "Find {{WHAT}}." }),
};
let mill: Mill;
beforeAll(async () => {
  const environment = { LOCK_DURATION_MS: "1500", STALLED_INTERVAL_MS: "500" };
  mill = await startMill({ backend: "postgres", script, worker: false, environment });
});
afterAll(() => mill?.close());

it.each([
  ["the call is begun, and nobody knows yet", { point: "tool-begun", kind: "prompt" }],
  ["the reply came, and its call is not committed", { point: "after-work", kind: "prompt" }],
  ["the call is asked for, and not rung", { point: "after-commit", kind: "prompt" }],
  ["the child is made, and not rung", { point: "after-work", kind: "call" }],
  ["the child's prompt is claimed", { point: "after-claim", kind: "prompt", times: 2 }],
  ["the child has ended, and its caller is not rung", { point: "after-commit", kind: "prompt", times: 2 }],
  ["the caller's prompt is ready again, and not rung", { point: "after-commit", kind: "call" }],
  ["the result is known, and its row has not ended", { point: "tool-performed", kind: "prompt" }],
])("%s", async (_, killAt) => {
  const before = mill.requests().length;
  const victim = await mill.spawnWorker({ killAt });
  const { runId, rings } = await createRun(mill.store, { definition: definitionOf(files) });
  await mill.queues.ring(rings);
  await victim.exited;
  // Begun now: one that waited, halted, might hold what it was just given.
  const rest = await mill.work();
  const run = await mill.ended(runId);
  await rest();
  expect(run).toMatchObject({ status: "success", result: "Done.", spent: { calls: 3, steps: 3 } });
  expect(mill.requests().length - before).toBe(3);
  const children = await childRuns(mill.store.database, runId);
  expect(children).toMatchObject([{ program: "look.wf.md", status: "success" }]);
  const rows = await mill.store.as(defaultTenant).runs.toolCalls(runId);
  expect(rows).toMatchObject([{ name: "look", callIndex: 0, position: 0, state: "done", result: "found" }]);
  for (const id of [runId, ...children.map((child) => child.id)])
    expect((await replayRun(mill.store.database, mill.store.definitions, id)).differences).toEqual([]);
});
