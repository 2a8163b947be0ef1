import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { freshDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable, sharedRedis } from "../support/redis.ts";

async function connected<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, retryStrategy: null });
  redis.on("error", () => undefined);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function tables(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query("select relname from pg_class where relname = 'mine'")).rows;
  } finally {
    await client.end();
  }
}

describe("freshDatabase", () => {
  it("gives every caller a separate empty database, which can be dropped while in use", async () => {
    const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
    const client = new pg.Client({ connectionString: one.url });
    client.on("error", () => undefined);
    await client.connect();
    await client.query("create table mine (id int)");
    expect(await tables(one.url)).toHaveLength(1);
    expect(await tables(two.url)).toHaveLength(0);
    await one.drop();
    await two.drop();
    await expect(tables(one.url)).rejects.toMatchObject({ code: "3D000" });
    await client.end().catch(() => undefined);
  });
});

describe.skipIf(!(await redisAvailable("Redis as the test services give it")))("Redis of the test services", () => {
  it("the shared server never evicts, and every caller has a separate prefix", async () => {
    const [one, two] = await Promise.all([sharedRedis(), sharedRedis()]);
    expect(one.url).toBe(two.url);
    expect(one.prefix).not.toBe(two.prefix);
    expect(await connected(one.url, (redis) => redis.config("GET", "maxmemory-policy"))).toEqual([
      "maxmemory-policy",
      "noeviction",
    ]);
  });

  it("a fresh server keeps what it fsynced after kill -9, and stops for good", async () => {
    const server = await freshRedis();
    await connected(server.url, async (redis) => {
      expect(await redis.config("GET", "appendonly")).toEqual(["appendonly", "yes"]);
      await redis.config("SET", "appendfsync", "always");
      await redis.set("kept", "yes");
    });
    await server.kill();
    await expect(connected(server.url, (redis) => redis.ping())).rejects.toThrow();
    await server.restart();
    expect(await connected(server.url, (redis) => redis.get("kept"))).toBe("yes");
    await server.stop();
    await expect(connected(server.url, (redis) => redis.ping())).rejects.toThrow();
  });
});

describe("afterDeath", () => {
  const module = join(import.meta.dirname, "../support/after-death.ts");

  it.each([
    ["runs after kill -9", "process.kill(process.pid, 'SIGKILL')", true],
    ["runs after an exit that forgot to call it off", "process.exit()", true],
    ["does not run once called off", "watch.callOff()", false],
  ])("%s", async (_, ending, runs) => {
    const directory = await mkdtemp(join(tmpdir(), "markmill-death-"));
    const mark = join(directory, "mark");
    const program = `import { afterDeath } from ${JSON.stringify(module)};
      const watch = afterDeath('touch "$1"', [${JSON.stringify(mark)}]);
      setTimeout(() => { ${ending}; }, 100);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
    await new Promise((resolve) => child.once("exit", resolve));
    await promisify(execFile)("sleep", ["1"]);
    expect(existsSync(mark)).toBe(runs);
    await rm(directory, { recursive: true });
  });
});
