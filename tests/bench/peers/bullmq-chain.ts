/**
 * A bare BullMQ chain on Redis: every step is a job that enqueues the next; no state is kept anywhere else. Producer here, worker in
 * a process of its own, as Markmill has it. Jobs are removed when done, ids are BullMQ's own: nothing it could save is left.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { abandon, serveSystem } from "../line-protocol.ts";

await serveSystem(async ({ redisUrl, prefix, workload }) => {
  if (workload.kind !== "chain") throw new Error("only chains");
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue("chain", { connection, prefix, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  const worker = fork(fileURLToPath(new URL("bullmq-chain-worker.ts", import.meta.url)), [], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const onExit = () => abandon("the chain's worker ended");
  worker.once("exit", onExit);
  worker.send({ redisUrl, prefix });
  await once(worker, "message");
  const waiting = new Map<number, () => void>();
  worker.on("message", ({ ended }: { readonly ended: readonly number[] }) => {
    for (const run of ended) {
      waiting.get(run)?.();
      waiting.delete(run);
    }
  });
  let runs = 0;
  return {
    pids: { producer: process.pid, worker: worker.pid ?? 0 },
    async run() {
      runs += 1;
      const run = runs;
      const ended = new Promise<void>((resolve) => waiting.set(run, resolve));
      await queue.add("step", { run, left: workload.steps });
      await ended;
    },
    durableSteps: async () => null,
    async close() {
      worker.off("exit", onExit);
      const exit = once(worker, "exit");
      worker.send("stop");
      await exit;
      await queue.close();
      connection.disconnect();
    },
  };
});
