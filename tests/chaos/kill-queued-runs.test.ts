/** Runs that wait for a slot of their tenant survive kill -9 of the supervisor and of workers, and the loss of the queue. */
import { Redis } from "ioredis";
import { expect, inject, it } from "vitest";
import { type Backend, definitionOf, startMill, workflow } from "../support/mill.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { spawnSupervisor } from "../support/spawn-supervisor.ts";
import { until } from "../support/until.ts";

const backends: Backend[] = (await redisAvailable("queued runs that are killed, on Redis"))
  ? ["redis", "postgres"]
  : ["postgres"];
const script = 'rules: [{ when: { pattern: "." }, reply: "x" }]';
/** The other backend runs in the soak. */
const tried = inject("thorough") ? backends : backends.slice(0, 1);
const places = 4;
const runs = 24;
const chart = 'START --> SET_A["Set: A=1"] --> PROMPT_P["Prompt: User P"] --> SET_B["Set: B=1"]';
const definition = definitionOf({ "a.md": workflow(chart, { "User P": "Say it." }) });

it.each(tried)("kill -9 of supervisor and worker and a lost queue lose no queued run, on %s", async (backend) => {
  const server = backend === "redis" ? await freshRedis() : null;
  const mill = await startMill({
    backend,
    script,
    worker: false,
    supervisor: false,
    environment: { RUNS_PER_TENANT: String(places) },
    ...(server === null ? {} : { redisUrl: server.url }),
  });
  const { calm } = mill.store.database;
  const count = async (what: string) =>
    (await calm.query<{ n: number }>(`select count(*)::integer as n from ${what}`)).rows[0]?.n;
  try {
    for (let started = 0; started < runs; started += 1) {
      const { jobs } = await mill.store.as("default").runs.create({ definition, takesTurn: true });
      await mill.queues.enqueue(jobs);
    }
    expect(await count("runs where enqueued_at = 'infinity'")).toBe(runs - places);
    // The supervisor is killed after it started runs for the second time, and before it enqueued them.
    const supervisor = await spawnSupervisor(mill, { killAt: "queued:2", runsPerTenant: places });
    const worker = await mill.spawnWorker();
    await supervisor.exited;
    await worker.kill();
    expect(await count("runs where enqueued_at = 'infinity' and status = 'doing'")).toBeGreaterThan(0);
    if (server === null) await calm.query("delete from bullmq.job");
    else {
      const client = new Redis(server.url);
      await client.flushall();
      client.disconnect();
    }
    const last = await spawnSupervisor(mill, { runsPerTenant: places });
    const rest = await mill.work();
    await until(async () => (await count("runs where status = 'success'")) === runs);
    await last.kill();
    await rest();
    expect(await count("events where type = 'activity.succeeded'")).toBe(3 * runs);
    expect(await count("runs")).toBe(runs);
  } finally {
    await mill.close();
    await server?.stop();
  }
});
