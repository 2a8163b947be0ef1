/** The queue contains only jobs. After its loss, doubled jobs or an outage, every run still finishes once. */

import { Redis } from "ioredis";
import { afterEach, describe, expect, inject, it } from "vitest";
import { type Backend, definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { createRun, getHistory, getRun, quietActivities } from "../support/store.ts";

const script = `
rules:
  - { when: { pattern: "say (?<what>.*)" }, reply: "{{what}}", delay: 60ms }
`;
const files = {
  "a.md": workflow(
    `START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT] --> PROMPT_C[Prompt: User C] --> SET_D[Set: D=RESULT] --> ASSIGN_E[Assign: '{{B}} {{D}}']`,
    {
      "User A": "say {{N}}",
      "User C": "say good",
    },
  ),
};
const redis = await redisAvailable("loss of the queue on the Redis backend");
let mill: Mill | null = null;
afterEach(async () => {
  await mill?.close();
  mill = null;
});

describe.skipIf(!redis)("a lost Redis", () => {
  it("loses nothing after FLUSHALL in the middle of many runs: all finish, each activity committed once", async () => {
    const server = await freshRedis();
    mill = await startMill({ backend: "redis", script, redisUrl: server.url });
    const ids = await Promise.all(
      Array.from(
        { length: inject("thorough") ? 50 : 20 },
        (_, n) => mill?.start(files, { variables: { N: `run${n}` } }) ?? "",
      ),
    );
    const client = new Redis(server.url);
    for (let times = 0; times < 3; times++) {
      await new Promise((resolve) => setTimeout(resolve, 120));
      await client.flushall();
    }
    client.disconnect();
    for (const [n, id] of ids.entries()) {
      expect(await mill.ended(id)).toMatchObject({ status: "success", result: `run${n} good` });
      const { entries } = await getHistory(mill.store.database, id);
      expect(entries.filter((entry) => entry.kind === "event")).toHaveLength(6);
    }
    await mill.close();
    mill = null;
    await server.stop();
  });

  it("causes no repetition after FLUSHALL during a long call and a long command, because their leases count", async () => {
    const server = await freshRedis();
    const slow = `rules: [{ when: { text: slow }, reply: "worth it", delay: 4500ms }]`;
    mill = await startMill({ backend: "redis", script: slow, redisUrl: server.url });
    const chart = `START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT] --> EXECUTE_C["Execute: sleep 5; echo done"]`;
    const id = await mill.start({ "a.md": workflow(chart, { "User A": "slow" }) });
    const client = new Redis(server.url);
    for (let seconds = 0; seconds < 10; seconds++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await client.flushall();
    }
    client.disconnect();
    expect(await mill.ended(id)).toMatchObject({
      status: "success",
      result: "$ sleep 5; echo done\ndone\n",
      variables: { B: "worth it" },
    });
    expect(mill.requests()).toHaveLength(1);
    await mill.close();
    mill = null;
    await server.stop();
  });

  it("during the creation of runs delays them only: they are accepted at once, and run when Redis is back", async () => {
    const server = await freshRedis();
    mill = await startMill({ backend: "redis", script, redisUrl: server.url });
    await server.kill();
    const id = await mill.start(files, { variables: { N: "x" } });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await getRun(mill.store.database, id))?.status).toBe("doing");
    await server.restart();
    expect(await mill.ended(id)).toMatchObject({ status: "success", result: "x good" });
    await mill.close();
    mill = null;
    await server.stop();
  });
});

const backends: Backend[] = redis ? ["redis", "postgres"] : ["postgres"];
describe.each(backends)("repeated and lost jobs, on the %s backend", (backend) => {
  it("ten deliveries of the same job cause one commit", async () => {
    mill = await startMill({ backend, script, worker: false, supervisor: false });
    const id = await mill.start(files, { variables: { N: "once" } });
    const [job] = await quietActivities(mill.store.database, 0);
    expect(job).toBeDefined();
    if (job === undefined) return;
    await mill.queues.enqueue(Array.from({ length: 10 }, (_, n) => ({ ...job, enqueues: job.enqueues + n })));
    const other = await mill.spawnWorker();
    const rest = await mill.work();
    expect(await mill.ended(id)).toMatchObject({ status: "success", result: "once good" });
    await rest();
    await other.kill();
    const { entries } = await getHistory(mill.store.database, id);
    expect(entries.filter((entry) => entry.kind === "event")).toHaveLength(6);
    expect(mill.requests()).toHaveLength(2);
  });

  it("the supervisor enqueues a job again that was lost between commit and queue", async () => {
    mill = await startMill({ backend, script });
    const created = await createRun(mill.store, { definition: definitionOf(files), variables: { N: "quiet" } });
    expect(await mill.ended(created.runId)).toMatchObject({ status: "success", result: "quiet good" });
  });
});
