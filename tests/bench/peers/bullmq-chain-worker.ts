/** The chain's worker: a step adds the next, the last one tells the producer. Concurrency as Markmill's control queue ships. */
import { readConfig } from "@markmill/config";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { createEndTeller } from "../tell-ended.ts";

const shipped = readConfig({});
if (!shipped.ok) throw new Error("the shipped defaults are not valid");
const concurrency = shipped.config.worker.concurrency.control;

const tellEnded = createEndTeller<number>();

process.once("message", async ({ redisUrl, prefix }: { redisUrl: string; prefix: string }) => {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue("chain", { connection, prefix, defaultJobOptions: { removeOnComplete: true } });
  const worker = new Worker<{ run: number; left: number }>(
    "chain",
    async ({ data: { run, left } }) => {
      if (left > 1) await queue.add("step", { run, left: left - 1 });
      else tellEnded(run);
    },
    { connection, prefix, concurrency },
  );
  worker.on("error", (error) => console.error(`bullmq chain: ${error.message}`));
  await worker.waitUntilReady();
  process.once("message", async () => {
    await worker.close();
    await queue.close();
    connection.disconnect();
    process.disconnect();
  });
  process.send?.("ready");
});
process.on("disconnect", () => process.exit());
