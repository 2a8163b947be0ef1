/** Makes sure that a run or a batch has a worker: this process, unless workers of the shared database are alive. */
import type { Config } from "@markmill/config";
import type { Store } from "@markmill/store";
import { everyWork } from "./every-page.ts";
import type { Stack } from "./open-stack.ts";

/** Counts workers of other processes with a recent heartbeat. */
export async function livingWorkers(store: Store): Promise<number> {
  return (await store.workers()).filter(({ alive }) => alive).length;
}

/** A command with its own database must run a worker for the runs it started. A shared database or a server has other workers. */
export async function mustWork(stack: Stack, config: Config): Promise<boolean> {
  const others = config.server === null && config.database.kind === "embedded" ? 0 : await livingWorkers(stack.store);
  return config.server === null && others === 0;
}

/** Starts to work and enqueues the ready activities. */
export async function workFor(stack: Stack, rootId: string): Promise<void> {
  const { admitAtOnce, readyJobs } = await import("@markmill/store/machine");
  await stack.work({ worker: true, supervisor: true, only: rootId, obeys: true });
  // A queued run would wait for other runs that have no worker.
  await admitAtOnce(stack.store.machine, rootId);
  await stack.queues.enqueue(await readyJobs(stack.store.machine.database.calm, [rootId]));
}

/** Starts to work for a class. It enqueues the class's active runs at once, and the others when they are started. */
export async function workForBatch(stack: Stack, batchId: string): Promise<void> {
  const { readyJobs } = await import("@markmill/store/machine");
  await stack.work({ worker: true, supervisor: true, only: { batch: batchId }, obeys: true });
  const running = await everyWork(stack.tenant.batches, batchId, { standing: ["running"] });
  const runs = running.flatMap((work) => work.try?.runId ?? []);
  await stack.queues.enqueue(await readyJobs(stack.store.machine.database.calm, runs));
}
