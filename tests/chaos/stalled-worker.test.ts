/** A worker without deliveries stops while activities are due, and keeps running with a paused queue. A minute each: only in the soak. */
import { afterEach, describe, expect, inject, it } from "vitest";
import { definition, onePrompt } from "../integration/store-programs.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { createRun } from "../support/store.ts";
import { until } from "../support/until.ts";
import { openWire } from "../support/wire.ts";

const withRedis = await redisAvailable("a worker whose Redis swallows everything");

describe.skipIf(!inject("thorough"))("a worker without deliveries while activities are due", () => {
  let mill: Mill;
  afterEach(() => mill?.close());

  async function due(paused: boolean) {
    mill = await startMill({ backend: "postgres", script: "default: { reply: x }", worker: false, supervisor: false });
    if (paused) for (const queue of ["control", "prompt"] as const) await mill.queues.watch(queue).pause();
    // No process enqueues a job.
    await createRun(mill.store, { definition: definition({ main: onePrompt }) });
    return await mill.spawnWorker();
  }
  const soon = (ms: number) => new Promise<"stays">((resolve) => setTimeout(() => resolve("stays"), ms));

  it("stops after it has reconnected once", async () => {
    const worker = await due(false);
    await worker.exited;
    expect(worker.process.exitCode).toBe(1);
  });

  it("keeps running if the queue is paused", async () => {
    const worker = await due(true);
    const left = worker.exited.then(() => "left" as const);
    expect(await Promise.race([left, soon(40_000)])).toBe("stays");
  });

  it.runIf(withRedis)("stops if Redis stops answering during a hand-over", async () => {
    mill = await startMill({
      backend: "redis",
      script: "default: { reply: x }",
      worker: false,
      supervisor: false,
      gated: true,
    });
    const { gate, queueAt } = mill;
    const wire = await openWire(queueAt.backend.url);
    const worker = await mill.spawnWorker({ backend: { ...queueAt.backend, url: wire.url } });
    const answer = gate?.hold();
    const chart = "START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User A]";
    await mill.start({ "a.md": workflow(chart, { "User A": "say it" }) });
    await until(() => gate?.asked.length === 1);
    wire.silence();
    answer?.();
    // No process enqueues a job.
    await createRun(mill.store, { definition: definition({ main: onePrompt }) });
    await worker.exited;
    expect(worker.process.exitCode).toBe(1);
    wire.close();
  });
});
