// An activity has exactly one job. A released or waiting activity keeps its job.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Backend, definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { createRun } from "../support/store.ts";

const backends: Backend[] = (await redisAvailable("given-back work on Redis")) ? ["redis", "postgres"] : ["postgres"];
const script = 'rules: [{ when: { pattern: "." }, reply: "x" }]';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it.each(backends)(
  "each prompt of a chain is claimed by the commit before it, once, on the %s backend",
  async (backend) => {
    const mill = await startMill({ backend, script });
    const { hot } = mill.store.database;
    const query = hot.query.bind(hot) as (...given: unknown[]) => unknown;
    let claims = 0;
    hot.query = ((...given: unknown[]) => {
      if ((given[0] as { name?: string }).name === "claim") claims += 1;
      return query(...given);
    }) as typeof hot.query;
    const prompts = ["A", "B", "C", "D"].map((name) => `PROMPT_${name}["Prompt: User P"]`);
    // Once a second a slot enqueues instead of claiming ahead. The stopped clock prevents that.
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    const run = await mill.run({ "a.md": workflow(`START --> ${prompts.join(" --> ")}`, { "User P": "Say it." }) });
    clock.mockRestore();
    expect(run.status).toBe("success");
    const { rows } = await hot.query<{ claim: number; takeovers: number; enqueues: number }>(
      "select claim, takeovers, enqueues from activities where run_id = $1 and kind = 'prompt'",
      [run.id],
    );
    expect(rows).toEqual(prompts.map(() => ({ claim: 1, takeovers: 0, enqueues: 1 })));
    // The first activity came through its own job.
    expect(claims).toBe(1);
    await mill.close();
  },
);

describe.each(backends)("one job per activity, on the %s backend", (backend) => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
  });
  afterAll(() => mill?.close());

  async function jobs(): Promise<number> {
    const counts = (await mill.queues.counts()).execute;
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  it("an EXECUTE that waits 13 s for a session of another worker has exactly one job during the wait and after it", async () => {
    const files = { "a.md": workflow('START --> EXECUTE_E["Execute: echo done"]') };
    const created = await createRun(mill.store, { definition: definitionOf(files) });
    await mill.store.database.calm.query(
      `insert into sessions (id, kind, host, worker, lease_until)
       values ($1, 'none', 'elsewhere', 'somebody', clock_timestamp() + interval '13 seconds')`,
      [created.runId],
    );
    await mill.queues.enqueue(created.jobs);
    const seen = new Set<number>();
    for (const end = performance.now() + 15_000; performance.now() < end; await pause(200)) seen.add(await jobs());
    expect([...seen]).toEqual([1]);
    const run = await mill.ended(created.runId);
    expect(run.result).toContain("done");
    expect(await jobs()).toBe(1);
    const { rows } = await mill.store.database.calm.query(
      "select enqueues from activities where run_id = $1 and kind = 'execute'",
      [created.runId],
    );
    expect(rows).toEqual([{ enqueues: 1 }]);
  });
});
