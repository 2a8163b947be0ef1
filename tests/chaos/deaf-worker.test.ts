/** A worker that hears nothing while work is due gives up; with a paused queue it stays. It takes half a minute: only in the soak. */
import { afterEach, describe, expect, inject, it } from "vitest";
import { definition, onePrompt } from "../integration/store-programs.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { createRun } from "../support/store.ts";

describe.skipIf(!inject("thorough"))("a worker that hears nothing while work is due", () => {
  let mill: Mill;
  afterEach(() => mill?.close());

  async function due(paused: boolean) {
    mill = await startMill({ backend: "postgres", script: "default: { reply: x }", worker: false, supervisor: false });
    if (paused) for (const queue of ["control", "prompt"] as const) await mill.queues.watch(queue).pause();
    // Nobody rings.
    await createRun(mill.store, { definition: definition({ main: onePrompt }) });
    return await mill.spawnWorker();
  }
  const soon = (ms: number) => new Promise<"stays">((resolve) => setTimeout(() => resolve("stays"), ms));

  it("gives up after it has reconnected once", async () => {
    const worker = await due(false);
    await worker.exited;
    expect(worker.process.exitCode).toBe(1);
  });

  it("stays where the queue is paused", async () => {
    const worker = await due(true);
    const left = worker.exited.then(() => "left" as const);
    expect(await Promise.race([left, soon(40_000)])).toBe("stays");
  });
});
