/**
 * Everything a command needs, in one process: the store (embedded Postgres unless DATABASE_URL is set), the queue, and, where the
 * command asks for them, a worker and a supervisor. Closing goes the other way round.
 */
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { Queues } from "@markmill/queue";
import type { EmbeddedPostgres, Store } from "@markmill/store";
import type { OpenWorker } from "@markmill/worker";
import { openModels } from "./open-models.ts";
import { openSandbox } from "./open-sandbox.ts";
import type { StackLog } from "./stack-log.ts";

export interface StackOptions {
  readonly config: Config;
  readonly cwd: string;
  readonly log: StackLog;
  readonly worker: boolean;
  readonly supervisor: boolean;
  /** Base URL of a model endpoint in place of the configured one. */
  readonly modelUrl?: string;
  readonly onDeaf?: () => void;
}

export interface Stack {
  readonly store: Store;
  readonly queues: Queues;
  readonly databaseUrl: string;
  readonly embedded: EmbeddedPostgres | null;
  health(): { readonly ok: boolean };
  close(): Promise<void>;
}

export async function openStack(options: StackOptions): Promise<Stack> {
  const { config, log } = options;
  const { openStore, startEmbeddedPostgres } = await import("@markmill/store");
  const { openQueues } = await import("@markmill/queue");
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    const embedded =
      config.database.kind === "embedded"
        ? await startEmbeddedPostgres({
            directory: join(resolve(options.cwd, config.home), "postgres"),
            log: (message) => log.info({}, message),
          })
        : null;
    if (embedded !== null) closing.push(() => embedded.stop());
    const databaseUrl = config.database.kind === "external" ? config.database.url : (embedded?.url ?? "");
    const store = await openStore({
      url: databaseUrl,
      connections: config.pgPoolSize,
      worker: `${hostname()}-${process.pid}`,
      leaseMs: config.worker.lockDurationMs,
    });
    closing.push(() => store.close());
    const queues = await openQueues({
      backend:
        config.queue.backend === "redis"
          ? { kind: "redis", url: config.queue.url }
          : { kind: "postgres", url: databaseUrl },
      onError: (error) => log.warn({ err: error }, "the queue"),
    });
    closing.push(() => queues.close());
    const worker = options.worker ? await startWorking(options, store, queues, databaseUrl) : null;
    if (worker !== null) closing.push(() => worker.drain());
    const supervisor = options.supervisor ? await startSupervising(options, store, queues) : null;
    if (supervisor !== null) closing.push(() => supervisor.stop());
    return {
      store,
      queues,
      databaseUrl,
      embedded,
      health: () => ({ ok: (worker?.health().ok ?? true) && (supervisor?.health().ok ?? true) }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startWorking(options: StackOptions, store: Store, queues: Queues, databaseUrl: string): Promise<OpenWorker> {
  const { config, log } = options;
  const { openWorker } = await import("@markmill/worker");
  const { client, catalogue } = await openModels(config, options.cwd, options.modelUrl);
  const sandbox = await openSandbox(config, options.cwd, log);
  return openWorker({
    config,
    store,
    databaseUrl,
    queues,
    client,
    catalogue,
    sandbox,
    log,
    onDeaf: options.onDeaf ?? (() => process.exit(1)),
  });
}

async function startSupervising(options: StackOptions, store: Store, queues: Queues) {
  const { startSupervisor } = await import("@markmill/supervisor");
  return startSupervisor({ store, queues, log: options.log, retentionDays: options.config.retentionDays });
}
