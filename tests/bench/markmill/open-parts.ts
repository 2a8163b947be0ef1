/** Store and queues as every process of Markmill opens them, with the shipped defaults. */
import { type Config, describeFindings, readConfig } from "@markmill/config";
import { openQueues, type Queues } from "@markmill/queue";
import { openStore, type Store } from "../../support/store.ts";
import type { Start } from "../line-protocol.ts";

export interface Parts {
  readonly config: Config;
  readonly store: Store;
  readonly queues: Queues;
  close(): Promise<void>;
}

export async function openParts(start: Start, name: string): Promise<Parts> {
  const { databaseUrl, redisUrl, prefix } = start;
  const reading = readConfig({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, QUEUE_BACKEND: start.queue });
  if (!reading.ok) throw new Error(describeFindings(reading.findings));
  const { config } = reading;
  const onError = (error: Error) => console.error(`${name}: ${error.message}`);
  const store = await openStore({
    url: databaseUrl,
    connections: config.pgPoolSize,
    worker: `${name}-${process.pid}`,
    onError,
  });
  const backend =
    config.queue.backend === "redis"
      ? ({ kind: "redis", url: config.queue.url } as const)
      : ({ kind: "postgres", url: databaseUrl } as const);
  const queues = await openQueues({ backend, prefix, onError });
  return {
    config,
    store,
    queues,
    async close() {
      await queues.close();
      await store.close();
    },
  };
}

/** Warnings and errors are worth a line on stderr; nothing else is. */
export function quietLog(name: string) {
  const say = (fields: object, message: string) => console.error(`${name}: ${message}`, fields);
  return { info: () => undefined, warn: say, error: say };
}
