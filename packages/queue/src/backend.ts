/**
 * Where BullMQ keeps its jobs. Both backends have the same interface. Code outside this file does not know which one is in use.
 *
 * Redis: one connection enqueues and fails at once when Redis is down (no offline queue). Workers have connections that wait for Redis.
 * Postgres: one small pool serves all. Its commits are asynchronous: if the server crashes and loses a job, the supervisor enqueues it
 * again. The queue then does not wait for the disk. A listening worker keeps one connection of the pool for itself. The probe has a
 * connection of its own, because a healthy pool may be busy for a while.
 */

import type { QueueName } from "@markmill/engine";
import {
  createRedisBackend,
  type IQueueBackend,
  type PgPool,
  type Processor,
  Queue,
  type QueueOptions,
  runMigrations,
  type Telemetry,
  type WorkerOptions,
} from "bullmq";
import type { Redis } from "ioredis";
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient } from "pg";
import type { JobData } from "./job-id.ts";
import { PatientClient } from "./patient-client.ts";
import { type QueueError, translate } from "./queue-error.ts";
import { createRecoveringBackend } from "./recovering-backend.ts";
import { ContinuingWorker } from "./throughput/continuing-worker.ts";
import type { HandOverAct } from "./throughput/hand-over.ts";
import { handOverOnPostgres } from "./throughput/hand-over-postgres.ts";
import { handOverOnRedis } from "./throughput/hand-over-redis.ts";
import { unfitRedis } from "./unfit-redis.ts";

export type BackendOptions =
  | { readonly kind: "redis"; readonly url: string }
  | { readonly kind: "postgres"; readonly url: string };

/** For a board that shows the queues. */
export type WatchedQueue = Pick<
  Queue<JobData>,
  | "getJob"
  | "getJobs"
  | "getJobCounts"
  | "getJobLogs"
  | "isPaused"
  | "pause"
  | "resume"
  | "drain"
  | "clean"
  | "obliterate"
  | "promoteJobs"
>;
export type JobQueue = WatchedQueue & Pick<Queue<JobData>, "add" | "addBulk" | "close" | "on" | "qualifiedName">;
export interface JobWorker
  extends Pick<
    ContinuingWorker<IQueueBackend, unknown>,
    "pause" | "close" | "concurrency" | "takesMore" | "letGo" | "hold" | "follow"
  > {
  on(event: "error", listener: (error: Error) => void): unknown;
}
type Settings = Pick<WorkerOptions, "concurrency" | "lockDuration" | "stalledInterval" | "maxStalledCount" | "name">;

export interface Backend {
  readonly kind: BackendOptions["kind"];
  /** Below this number of jobs, adding them one by one is cheaper than adding them together. */
  readonly bulkFrom: number;
  queue(name: QueueName): JobQueue;
  /** The same queue on the connection of the workers, which keeps the order of its commands. null: there is no such connection. */
  readonly companion: ((name: QueueName) => JobQueue) | null;
  worker(name: QueueName, process: Processor<JobData, null>, settings: Settings): JobWorker;
  /** Rejects if the server takes no jobs at this moment. */
  probe(): Promise<void>;
  /** null: workers of this queue fetch every job from the waiting list (H4). */
  handOverAct(name: QueueName, lockDuration: number): HandOverAct | null;
  close(): Promise<void>;
}

const connectMs = 5_000;
/** A socket that never answers must not block a worker for ever. */
const queryMs = 15_000;
/** Queues in which one activity of a run often leads to another in the same queue. */
const handsOver = (name: QueueName) => name === "control" || name === "prompt";
/**
 * How many ended jobs the queue keeps. None, if it hands jobs over (H4): the board reads ended jobs from Postgres. This is an option of the
 * worker. As an option of each job, it would be sent, stored and read with every job.
 */
const keptJobs = (name: QueueName) => ({
  removeOnComplete: { count: handsOver(name) ? 0 : 100 },
  removeOnFail: { count: 500 },
});

interface BackendParts {
  readonly prefix: string;
  readonly onError: (error: QueueError) => void;
  /** For BullMQ's queues and workers. */
  readonly telemetry: Telemetry | undefined;
}

export function openBackend(options: BackendOptions, parts: BackendParts): Promise<Backend> {
  return options.kind === "redis" ? openRedis(options.url, parts) : openPostgres(options.url, parts);
}

/** The option is absent without telemetry, because BullMQ then uses a shorter path. */
const telemetryOption = (telemetry: Telemetry | undefined) => (telemetry === undefined ? {} : { telemetry });

async function openRedis(url: string, { prefix, onError, telemetry }: BackendParts): Promise<Backend> {
  // Import it only here: a process whose queue is in Postgres does not load a Redis client.
  const { GatheringRedis } = await import("./throughput/gathering-redis.ts");
  const reconnect = (times: number) => Math.min(50 * 2 ** times, 1_000);
  const enqueuing = new GatheringRedis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: connectMs,
    connectTimeout: connectMs,
    retryStrategy: reconnect,
  });
  /** An event reports why there is no connection. A connect or a command only fails with "connection closed". */
  let cause: QueueError | null = null;
  enqueuing.on("ready", () => {
    cause = null;
  });
  enqueuing.on("error", (error) => {
    cause = translate(error, `The connection to Redis at ${withoutPassword(url)}`);
    onError(cause);
  });
  try {
    await enqueuing.connect();
    const fault = unfitRedis(await enqueuing.info());
    if (fault !== null) throw fault;
    // If the server does not have the database of the URL, the client continues in database 0.
    const { db = 0 } = enqueuing.options;
    if (db !== 0) await enqueuing.select(db);
    await tryToWrite(enqueuing, `${prefix}:start`);
  } catch (error) {
    enqueuing.disconnect();
    const told = translate(error, `Redis at ${withoutPassword(url)}`);
    throw told.code === "QUEUE_UNREACHABLE" ? (cause ?? told) : told;
  }
  const serving = new GatheringRedis(url, { lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: reconnect });
  serving.on("error", (error) => onError(translate(error, "A worker's connection to Redis")));
  const queueOptions: QueueOptions = {
    connection: enqueuing,
    prefix,
    skipWaitingForReady: true,
    streams: { events: { maxLen: 100 } },
    ...telemetryOption(telemetry),
  };
  return {
    kind: "redis",
    bulkFrom: 2,
    queue: (name) => new Queue<JobData>(name, queueOptions),
    companion: (name) => new Queue<JobData>(name, { ...queueOptions, connection: serving }),
    worker: (name, process, settings) =>
      new ContinuingWorker(
        name,
        process,
        {
          ...settings,
          ...keptJobs(name),
          ...telemetryOption(telemetry),
          connection: serving,
          prefix,
          drainDelay: 5,
        },
        createRedisBackend,
      ),
    async probe() {
      try {
        // A server that refuses a job also refuses this write.
        await tryToWrite(enqueuing, `${prefix}:probe`);
      } catch (error) {
        const told = translate(error, "Writing to Redis");
        throw told.code === "QUEUE_UNREACHABLE" ? (cause ?? told) : told;
      }
    },
    handOverAct: (name, lockDuration) =>
      handsOver(name) ? handOverOnRedis(serving, `${prefix}:${name}`, lockDuration) : null,
    async close() {
      enqueuing.disconnect();
      serving.disconnect();
    },
  };
}

/**
 * Every operation of the queue is a script that writes. If the server cannot run such a script, this test reports the reason once, instead
 * of once per job.
 */
async function tryToWrite(redis: Redis, key: string): Promise<void> {
  await redis.eval("return redis.call('SET', KEYS[1], '1', 'PX', '1000')", 1, key);
}

async function openPostgres(url: string, { onError, telemetry }: BackendParts): Promise<Backend> {
  const common: ClientConfig = {
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
    application_name: "markmill queue",
  };
  try {
    await migrateQueue(common);
  } catch (error) {
    throw translate(error, `The queue in Postgres at ${withoutPassword(url)}`);
  }
  const pool = new Pool({
    ...common,
    Client: PatientClient,
    max: 8,
    query_timeout: queryMs,
    onConnect: applySettings,
  });
  pool.on("error", (error) => onError(translate(error, "A queue connection to Postgres")));
  const probing = new Pool({
    ...common,
    application_name: "markmill queue health",
    onConnect: applySettings,
    max: 1,
    query_timeout: probeMs,
    connectionTimeoutMillis: probeMs,
  });
  probing.on("error", () => undefined);
  const clients = new Set<PoolClient>();
  pool.on("connect", (client) => {
    clients.add(client);
    // A connection can break while it is in use, between two queries. Only this event reports it, and the next query fails.
    client.on("error", () => undefined);
  });
  pool.on("remove", (client) => clients.delete(client));
  // Every queue and worker on the pool adds its own listener.
  pool.setMaxListeners(50);
  const connection = pool as PgPool;
  return {
    kind: "postgres",
    bulkFrom: 8,
    companion: null,
    queue: (name) =>
      new Queue(name, { connection, ...telemetryOption(telemetry) }, createRecoveringBackend) as unknown as JobQueue,
    worker: (name, process, settings) =>
      new ContinuingWorker(
        name,
        process,
        { ...settings, ...keptJobs(name), ...telemetryOption(telemetry), connection, drainDelay: 5 },
        createRecoveringBackend,
      ),
    async probe() {
      try {
        await probing.query(probeText);
      } catch (error) {
        throw translate(error, "Writing to the queue in Postgres");
      }
    },
    handOverAct: (name, lockDuration) => (handsOver(name) ? handOverOnPostgres(pool, name, lockDuration) : null),
    close: async () => {
      await Promise.all([endPool(pool, clients), endPool(probing, new Set())]);
    },
  };
}

const probeMs = 2_000;
/** Writes one row that BullMQ does not use. A server that is full, read-only, or lacks the tables refuses this as it refuses a job. */
const probeText = `insert into meta (queue, field, value) values ('markmill health', 'probe', '')
  on conflict (queue, field) do update set value = excluded.value`;

/** Uses a statement: connection poolers refuse or drop settings that are sent at the start of a connection. */
async function applySettings(client: ClientBase): Promise<void> {
  await client.query(
    `select set_config('search_path', 'bullmq', false), set_config('synchronous_commit', 'off', false),
       set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $1, false)`,
    [String(queryMs)],
  );
}

/** Uses a connection of its own: a migration, or the wait for another process's migration, may take longer than `queryMs`. */
async function migrateQueue(config: ClientConfig): Promise<void> {
  const client = new Client(config);
  client.on("error", () => undefined);
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

/** A worker that is closed while it begins to listen never returns its connection. After one second, such connections are ended here. */
async function endPool(pool: Pool, clients: ReadonlySet<ClientBase>): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const forced = new Promise<void>((resolve) => {
    late = setTimeout(() => {
      const leaving = [...clients].map((client) => (client as Client).end().catch(() => undefined));
      void Promise.all(leaving).then(() => resolve());
    }, 1_000);
  });
  await Promise.race([pool.end(), forced]);
  clearTimeout(late);
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//");
}
