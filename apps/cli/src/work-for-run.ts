/** Makes sure that somebody works for a run: this process, unless workers of the shared database are alive. */
import type { Config } from "@markmill/config";
import type { RunDetail, Store } from "@markmill/store";
import { readRunOptions } from "./run-options.ts";
import type { Obeys, Stack } from "./stack/open-stack.ts";
import { serveScriptOf } from "./stack/serve-script.ts";

/** Three heartbeats. */
const silentMs = 10_000;

/** Workers of other processes that have been heard of lately. */
export async function livingWorkers(store: Store): Promise<number> {
  const { listWorkers } = await import("@markmill/store");
  const now = store.clock.now();
  return (await listWorkers(store.database)).filter(({ heartbeatAt }) => now - heartbeatAt.getTime() < silentMs).length;
}

/** On a database of one's own every terminal works for what it started; a shared one has its workers. */
export async function mustWork(stack: Stack, config: Config): Promise<boolean> {
  return config.database.kind === "embedded" || (await livingWorkers(stack.store)) === 0;
}

export function obeysOf(config: Config, rootId: string): Obeys {
  return config.database.kind === "embedded" ? "everybody" : { only: rootId };
}

/** Serves its script, starts to work, and rings what waits. Returns how to stop serving the script. */
export async function workFor(
  stack: Stack,
  config: Config,
  run: Pick<RunDetail, "rootId" | "options">,
): Promise<() => Promise<void>> {
  const script = readRunOptions(run.options)?.script ?? null;
  const model = script === null ? null : await serveScriptOf(stack.store, script);
  await stack.work({ worker: true, supervisor: true, obeys: obeysOf(config, run.rootId) });
  const { readyRings } = await import("@markmill/store");
  await stack.queues.ring(await readyRings(stack.store.database.calm, [run.rootId]));
  return async () => model?.close();
}
