/** Postgres and Redis for the benchmark: what TEST_DATABASE_URL and TEST_REDIS_URL name, else servers of its own. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { Redis } from "ioredis";
import pg from "pg";
import { afterDeath } from "../support/after-death.ts";
import { findRedis, startRedis } from "../support/redis-server.ts";
import { serverOf } from "./cpu-meter.ts";

export interface Services {
  readonly redisUrl: string;
  /** Main processes; null: not on this machine. */
  readonly pids: { readonly postgres: number | null; readonly redis: number | null };
  /** What a reader of the figures wants to know. */
  readonly versions: { readonly postgres: string; readonly redis: string };
  /** An empty database, after a checkpoint, so that nobody pays for the writes of the one before. */
  freshDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>;
  stop(): Promise<void>;
}

export async function startServices(): Promise<Services> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const databaseUrl = process.env.TEST_DATABASE_URL || (await ownPostgres(stops));
    const redisUrl = process.env.TEST_REDIS_URL || (await ownRedis(stops));
    return {
      redisUrl,
      freshDatabase: () => freshDatabase(databaseUrl),
      stop,
      ...(await examine(databaseUrl, redisUrl)),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function ownPostgres(stops: (() => Promise<unknown>)[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-bench-"));
  // The server's own watch needs a few seconds to stop it.
  const watch = afterDeath('sleep 12; rm -rf "$1"', [directory]);
  const server = await startEmbeddedPostgres({ directory: join(directory, "postgres") });
  stops.push(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
    watch.callOff();
  });
  return server.url;
}

async function ownRedis(stops: (() => Promise<unknown>)[]): Promise<string> {
  const server = await startRedis(await findRedis(fileURLToPath(new URL("../../.cache", import.meta.url))));
  stops.push(() => server.stop());
  return server.url;
}

async function examine(databaseUrl: string, redisUrl: string): Promise<Pick<Services, "pids" | "versions">> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number; version: string; fsync: string; commit: string }>(
    `select pg_backend_pid() as pid, current_setting('server_version') as version,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`,
  );
  const postgres = rows[0];
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  try {
    if (postgres?.fsync !== "on" || postgres.commit !== "on") {
      throw new Error(
        "The figures mean nothing unless fsync and synchronous_commit are on: switch them on in Postgres.",
      );
    }
    const info = await redis.info("server");
    const redisPid = Number(/^process_id:(\d+)/m.exec(info)?.[1]);
    return {
      pids: { postgres: serverOf(postgres.pid, "postgres"), redis: serverOf(redisPid, "redis-server") },
      versions: { postgres: postgres.version, redis: /^redis_version:(\S+)/m.exec(info)?.[1] ?? "unknown" },
    };
  } finally {
    redis.disconnect();
    await client.end();
  }
}

async function freshDatabase(serverUrl: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `markmill_bench_${randomBytes(6).toString("hex")}`;
  await administer(serverUrl, `create database "${name}"`, "checkpoint");
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(serverUrl, `drop database if exists "${name}" with (force)`) };
}

async function administer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
