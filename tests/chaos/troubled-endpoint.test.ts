// An endpoint that fails two of five requests in all known ways, and workers that are killed meanwhile. The run ends as without trouble:
// with the same RESULT, certain cost and number of replies, and it never follows an edge for failure.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, it } from "vitest";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { callsOfRun, getHistory, getRun, replayRun, spentOf } from "../support/store.ts";

const steps = 20;
const kills = inject("thorough") ? 5 : 3;
/** Together they meet most kinds of trouble. */
const runs = 3;

const nodes = Array.from({ length: steps }, (_, index) => `P${index + 1}`);
const chain = nodes.map((name) => `PROMPT_${name}["Prompt: User ${name}"]`).join(" --> ");
const wrong = nodes.map((name) => `PROMPT_${name} --> |FALSE| SET_WRONG["Set: WRONG=yes"]`).join("\n");
const files = {
  "chain.wf.md": workflow(
    `START --> ${chain} --> SUCCESS\n${wrong}`,
    Object.fromEntries(nodes.map((name) => [`User ${name}`, `Step ${name} after {{RESULT}}`])),
  ),
};
const replies = `rules:
  - { when: { pattern: 'Step (?<name>P\\d+) after' }, reply: "did {{name}}", usage: { prompt: 40, completion: 7 } }
`;

async function outcome(mill: Mill, runId: string) {
  const run = await getRun(mill.store.database, runId);
  const spent = await spentOf(mill.store.database, runId);
  const calls = await callsOfRun(mill.store.database, runId);
  return {
    status: run?.status,
    result: run?.result,
    wrong: run?.variables.WRONG ?? "no",
    replies: calls.length,
    certain: spent.nanodollars - (spent.unsure?.nanodollars ?? 0),
    steps: run?.spent.steps,
  };
}

it("a run ends as usual although its endpoint fails in every way and its workers are killed", async () => {
  const good = await startMill({ backend: "postgres", script: replies });
  let expected: Awaited<ReturnType<typeof outcome>>;
  try {
    expected = await outcome(good, (await good.run(files)).id);
  } finally {
    await good.close();
  }
  expect(expected).toMatchObject({ status: "success", result: "did P20", replies: steps, wrong: "no" });

  const bad = await startMill({
    backend: "postgres",
    script: `trouble: { share: 0.4, seed: 11 }\n${replies}`,
    worker: false,
    environment: { MODEL_PAUSE_MAX_MS: "400", MODEL_TIMEOUT_MS: "1500" },
  });
  try {
    const ids = await Promise.all(Array.from({ length: runs }, () => bad.start(files)));
    const open = async () => {
      const text = "select id from runs where ended_at is not null";
      return (await bad.store.database.calm.query({ name: "any-ended", text })).rows.length === 0;
    };
    for (let killed = 0; killed < kills; killed++) {
      const before = bad.requests().length;
      const worker = await bad.spawnWorker();
      // Each worker sends some requests, and is killed in the middle of them.
      while (bad.requests().length < before + 6 && (await open())) await sleep(20);
      await sleep(7 * killed);
      await worker.kill();
    }
    expect(await open()).toBe(true);
    const rest = await bad.work();
    const failures: string[] = [];
    for (const runId of ids) {
      // A parked call waits longer each time.
      await bad.ended(runId, 420_000);
      expect(await outcome(bad, runId)).toEqual(expected);
      const { entries } = await getHistory(bad.store.database, runId);
      for (const entry of entries) {
        if (entry.kind === "event" && entry.event.type === "activity.failed") failures.push(entry.event.next);
      }
      expect((await replayRun(bad.store.database, bad.store.definitions, runId)).differences).toEqual([]);
    }
    await rest();
    expect(failures.length).toBeGreaterThan(15);
    expect(new Set(failures)).toEqual(new Set(["park"]));
    const kinds = new Set(bad.requests().flatMap(({ fault }) => fault ?? []));
    expect(kinds.size).toBeGreaterThan(7);
    console.log(`${bad.requests().length} requests, ${failures.length} waits, faults: ${[...kinds].join(", ")}`);
  } finally {
    await bad.close();
  }
}, 600_000);
