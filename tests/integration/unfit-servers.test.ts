// Servers that Markmill cannot work with are refused when a process starts, by name: before anything is written, and by every process.
import { tmpdir } from "node:os";
import { readConfig } from "@markmill/config";
import { openQueues } from "@markmill/queue";
import { openStack } from "@markmill/stack";
import { openStore } from "@markmill/store";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database?.drop());

async function administer(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set transaction_read_only = off");
  for (const statement of statements) await client.query(`begin read write; ${statement}; commit`);
  await client.end();
}

it.each([true, false])("a database whose sessions are read-only is refused (migrate: %s)", async (migrate) => {
  await administer(`alter database "${database.name}" set default_transaction_read_only = on`);
  try {
    await expect(openStore({ url: database.url, migrate })).rejects.toMatchObject({
      code: "STORE_READ_ONLY_SETTING",
      fix: expect.stringContaining("default_transaction_read_only"),
    });
  } finally {
    await administer(`alter database "${database.name}" reset default_transaction_read_only`);
  }
});

describe.skipIf(!(await redisAvailable("Redis servers that cannot keep the queue")))("on Redis", () => {
  it("a cluster is refused by a process that needs the queue and by one that can do without", async () => {
    const server = await freshRedis(["--cluster-enabled", "yes"]);
    try {
      const backend = { kind: "redis", url: server.url } as const;
      await expect(openQueues({ backend })).rejects.toMatchObject({ code: "QUEUE_CLUSTER" });
      await expect(stackOn(server.url)).rejects.toMatchObject({ code: "QUEUE_CLUSTER" });
    } finally {
      await server.stop();
    }
  });

  it("a wrong password is an error of the start, also where the queue may be away", async () => {
    const server = await freshRedis();
    const redis = new Redis(server.url);
    await redis.config("SET", "requirepass", "right");
    redis.disconnect();
    try {
      await expect(stackOn(server.url.replace("//", "//:wrong@"))).rejects.toMatchObject({ code: "QUEUE_REFUSED" });
    } finally {
      await server.stop();
    }
  });
});

async function stackOn(redisUrl: string) {
  const reading = readConfig({ DATABASE_URL: database.url, REDIS_URL: redisUrl });
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  const stack = await openStack({ config: reading.config, cwd: tmpdir(), queue: "when there" });
  await stack.close();
}
