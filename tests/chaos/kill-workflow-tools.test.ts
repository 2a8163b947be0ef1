/**
 * kill -9 between any two lines of a workflow that a model calls as a tool: in the caller, in the call and during the callee. No reply is
 * paid twice, one child run is created, and the run ends as usual.
 */
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { definitionOf, type Mill, type SpawnOptions, startMill, workflow } from "../support/mill.ts";
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

interface Death {
  readonly when: string;
  readonly killAt: NonNullable<SpawnOptions["killAt"]>;
  /** For the store this point equals the next one, or it is the claim of an ordinary prompt. */
  readonly further?: true;
}

const deaths: readonly Death[] = [
  { when: "the call is begun, and nobody knows yet", killAt: { point: "tool-begun", kind: "prompt" }, further: true },
  { when: "the reply came, and its call is not committed", killAt: { point: "after-work", kind: "prompt" } },
  { when: "the call is asked for, and not enqueued", killAt: { point: "after-commit", kind: "prompt" } },
  { when: "the child is made, and not enqueued", killAt: { point: "after-work", kind: "call" } },
  { when: "the child's prompt is claimed", killAt: { point: "after-claim", kind: "prompt", times: 2 }, further: true },
  {
    when: "the child has ended, and its caller is not enqueued",
    killAt: { point: "after-commit", kind: "prompt", times: 2 },
  },
  { when: "the caller's prompt is ready again, and not enqueued", killAt: { point: "after-commit", kind: "call" } },
  { when: "the result is known, and its row has not ended", killAt: { point: "tool-performed", kind: "prompt" } },
];
// A run passes the points in this order. Three of them belong to one run.
const usual = deaths.filter(({ further }) => further !== true);
const several = inject("thorough") ? deaths.map((death) => [death]) : [usual.slice(0, 3), usual.slice(3)];

it.each(several.map((each) => [each.map(({ when }) => when).join("; then "), each] as const))("%s", async (_, each) => {
  const before = mill.requests().length;
  let runId = "";
  for (const { killAt } of each) {
    const victim = await mill.spawnWorker({ killAt });
    if (runId === "") {
      const created = await createRun(mill.store, { definition: definitionOf(files) });
      runId = created.runId;
      await mill.queues.enqueue(created.jobs);
    }
    await victim.exited;
  }
  // The worker starts now, because a waiting stopped worker might hold the new job.
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
