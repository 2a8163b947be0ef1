/** Makes sure that somebody works for a run or a batch: this process, unless workers of the shared database are alive. */
import type { Config } from "@markmill/config";
import type { Store } from "@markmill/store";
import { everyWork } from "./every-page.ts";
import type { Stack } from "./open-stack.ts";

/** Workers of other processes that have been heard of lately. */
export async function livingWorkers(store: Store): Promise<number> {
  return (await store.workers()).filter(({ alive }) => alive).length;
}

/** On a database of one's own every terminal works for what it started; a shared one, and a server, have their workers. */
export async function mustWork(stack: Stack, config: Config): Promise<boolean> {
  const others = config.server === null && config.database.kind === "embedded" ? 0 : await livingWorkers(stack.store);
  return config.server === null && others === 0;
}

/** Starts to work, and enqueues what waits. */
export async function workFor(stack: Stack, rootId: string): Promise<void> {
  const { admitAtOnce, readyJobs } = await import("@markmill/store/machine");
  await stack.work({ worker: true, supervisor: true, only: rootId, obeys: true });
  // A queued run would wait for others that nobody works for.
  await admitAtOnce(stack.store.machine, rootId);
  await stack.queues.enqueue(await readyJobs(stack.store.machine.database.calm, [rootId]));
}

/** The same for a class: its runs under way are enqueued at once, the others as they are admitted. */
export async function workForBatch(stack: Stack, batchId: string): Promise<void> {
  const { readyJobs } = await import("@markmill/store/machine");
  await stack.work({ worker: true, supervisor: true, only: { batch: batchId }, obeys: true });
  const running = await everyWork(stack.tenant.batches, batchId, { standing: ["running"] });
  const runs = running.flatMap((work) => work.try?.runId ?? []);
  await stack.queues.enqueue(await readyJobs(stack.store.machine.database.calm, runs));
}
