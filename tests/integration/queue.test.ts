import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import type { JobSpec } from "@markmill/engine";
import { type Handler, jobId, openQueues, type QueueError } from "@markmill/queue";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { GatheringRedis } from "../../packages/queue/src/throughput/gathering-redis.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable, sharedRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { openWire } from "../support/wire.ts";

import { behaves, spec } from "./queue-cases.ts";

const withRedis = await redisAvailable("the queue on Redis");

describe.skipIf(!withRedis)("a queue on Redis", () => {
  behaves(async () => {
    const { url, prefix } = await sharedRedis();
    return { backend: { kind: "redis", url }, prefix, close: async () => undefined };
  });

  it("refuses a server that evicts keys", async () => {
    const server = await freshRedis();
    const redis = new Redis(server.url);
    await redis.config("SET", "maxmemory-policy", "allkeys-lru");
    await expect(openQueues({ backend: { kind: "redis", url: server.url } })).rejects.toMatchObject({
      code: "QUEUE_EVICTION_POLICY",
      message: expect.stringContaining("allkeys-lru"),
      fix: expect.stringContaining("noeviction"),
    });
    redis.disconnect();
    await server.stop();
  });

  it("sends a handler's enqueues to Redis before the job's completion, and no handler waits for the answer", {
    timeout: 60_000,
  }, async () => {
    const server = await freshRedis();
    const queues = await openQueues({ backend: { kind: "redis", url: server.url } });
    const redis = new Redis(server.url);
    const said: string[] = [];
    const monitor = await redis.monitor();
    monitor.on("monitor", (_time: string, words: string[]) => {
      const [command = "", , , ...rest] = words;
      if (/^eval/i.test(command)) said.push(rest.join(" "));
    });
    const chain = [spec(), spec(), spec({ queue: "prompt" }), spec(), spec({ queue: "execute" })];
    const aside = Array.from({ length: 3 }, () => spec({ queue: "supervisor" }));
    const [slow, ...next] = [jobId(chain[3] ?? spec()), ...chain.slice(1)];
    const heard: string[] = [];
    const order: string[] = [];
    const handle: Handler = async ({ jobId }, enqueue) => {
      heard.push(jobId);
      if (jobId === slow) {
        // Redis answers nothing until the handler has enqueued.
        await server.freeze();
        void redis.ping().then(() => order.push("Redis answers"));
      }
      await enqueue([...next.slice(heard.length - 1, heard.length), ...(heard.length === 1 ? aside : [])]);
      if (jobId === slow) {
        order.push("the handler has enqueued");
        await server.thaw();
      }
      return { do: "done" };
    };
    const servings = (["control", "prompt", "execute"] as const).map((name) => queues.serve(name, handle));
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toEqual(chain.map(jobId));
    await Promise.all(servings.map((serving) => serving.close()));
    await expect.poll(() => order).toEqual(["the handler has enqueued", "Redis answers"]);
    // The first mention of a job enqueues it, and the last one completes it.
    const enqueued = (one: JobSpec) => said.findIndex((text) => text.includes(jobId(one)));
    const done = (one: JobSpec) => said.findLastIndex((text) => text.includes(jobId(one)));
    const told = chain.flatMap((one, index) => {
      const jobs = [...next.slice(index, index + 1), ...(index === 0 ? aside : [])];
      return jobs.map((enqueue) => ({
        enqueued: enqueued(enqueue),
        done: done(one),
        handed: index === 0 && enqueue === next[0],
      }));
    });
    for (const { enqueued, done, handed } of told) {
      expect(enqueued).toBeGreaterThan(-1);
      // One script enqueues the next job and completes the finished one.
      if (handed) expect(enqueued).toBe(done);
      else expect(enqueued).toBeLessThan(done);
    }
    monitor.disconnect();
    redis.disconnect();
    await queues.close();
    await server.stop();
  });

  it("sends all commands of one turn to Redis in one write, in order, also if the connection is cut in the middle", async () => {
    const server = await freshRedis();
    const admin = new Redis(server.url);
    const gathering = new GatheringRedis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    const readsOf = async () => Number(/total_reads_processed:(\d+)/.exec(await admin.info("stats"))?.[1]);
    const say = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, index) => gathering.rpush("said", from + index)));
    await gathering.ping();
    const before = await readsOf();
    await say(0, 50);
    // One read is for this write, and one for the second INFO.
    expect((await readsOf()) - before).toBe(2);

    const cutWhileCorked = say(50, 60);
    gathering.stream.destroy();
    await Promise.all([cutWhileCorked, say(60, 70)]);
    const id = await gathering.client("ID");
    const around = [say(70, 80), admin.client("KILL", "ID", id), say(80, 90)];
    await Promise.all(around);
    await say(90, 100);
    // Commands to a cut connection are sent again: each at least once, the first time in order.
    expect([...new Set(await admin.lrange("said", 0, -1))]).toEqual(
      Array.from({ length: 100 }, (_, index) => `${index}`),
    );
    const again = await readsOf();
    await say(100, 150);
    expect((await readsOf()) - again).toBe(2);
    gathering.disconnect();
    admin.disconnect();
    await server.stop();
  });

  it("delivers the jobs that handlers enqueue although Redis cuts their connections", async () => {
    const server = await freshRedis();
    const errors: QueueError[] = [];
    const queues = await openQueues({
      backend: { kind: "redis", url: server.url },
      onError: (error) => errors.push(error),
    });
    const redis = new Redis(server.url);
    const chain = Array.from({ length: 12 }, () => spec());
    const heard = new Set<string>();
    const serving = queues.serve("control", async (delivered, enqueue) => {
      heard.add(delivered.jobId);
      const at = chain.findIndex((one) => jobId(one) === delivered.jobId);
      if (at % 4 === 1) await redis.call("CLIENT", "KILL", "TYPE", "normal");
      const enqueuing = enqueue(chain.slice(at + 1, at + 2));
      if (at % 4 === 3) await redis.call("CLIENT", "KILL", "TYPE", "normal");
      await enqueuing;
      return { do: "done" };
    });
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => [...heard]).toEqual(chain.map(jobId));
    await expect.poll(async () => (await queues.counts()).control).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
    await serving.close(true);
    expect(new Set(errors.map(({ code }) => code))).not.toContain("QUEUE_BUG");
    redis.disconnect();
    await queues.close();
    await server.stop();
  });

  it("can be closed by force after Redis stopped between a handler's enqueue and the end of its job", async () => {
    const server = await freshRedis();
    const queues = await openQueues({ backend: { kind: "redis", url: server.url } });
    const enqueued = Promise.withResolvers<void>();
    const serving = queues.serve("control", async (_, enqueue) => {
      await server.kill();
      await enqueue([spec(), spec()]);
      enqueued.resolve();
      return { do: "done" };
    });
    await queues.enqueue([spec()]);
    await enqueued.promise;
    void serving.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const closed = serving.close(true).then(() => queues.close());
    const late = new Promise((resolve) => setTimeout(resolve, 60_000, "late"));
    expect(await Promise.race([closed, late])).toBeUndefined();
    await server.stop();
  });

  it("has no open delivery after Redis stops answering, so that the worker counts as stalled", async () => {
    const server = await freshRedis();
    const wire = await openWire(server.url);
    const queues = await openQueues({ backend: { kind: "redis", url: wire.url } });
    const next = spec();
    const serving = queues.serve("control", async (_, enqueue) => {
      wire.silence();
      await enqueue([next]);
      return { do: "done" };
    });
    await queues.enqueue([spec()]);
    await until(() => wire.isSilent && serving.active() === 0);
    await expect(serving.isPaused()).rejects.toThrow();
    await serving.close(true);
    wire.close();
    await queues.close();
    await server.stop();
  });

  it("reports an unreachable Redis at once when opened, returns the jobs that it cannot enqueue, and works again later", async () => {
    await expect(openQueues({ backend: { kind: "redis", url: "redis://127.0.0.1:9" } })).rejects.toMatchObject({
      code: "QUEUE_UNREACHABLE",
      fix: expect.stringContaining("REDIS_URL"),
    });
    const server = await freshRedis();
    const errors: QueueError[] = [];
    const queues = await openQueues({
      backend: { kind: "redis", url: server.url },
      onError: (error) => errors.push(error),
    });
    await queues.enqueue([spec()]);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const [one, two] = [spec(), spec({ queue: "prompt" })];
    expect(await queues.enqueue([one, two])).toEqual([one, two]);
    expect(errors.map(({ code }) => code)).toContain("QUEUE_UNREACHABLE");
    await server.restart();
    await expect.poll(() => queues.enqueue([one]), { interval: 200 }).toEqual([]);
    await queues.close();
    await server.stop();
  });
});

describe("a queue on Postgres", () => {
  behaves(async () => {
    const database: TestDatabase = await freshDatabase();
    return { backend: { kind: "postgres", url: database.url }, prefix: "", close: () => database.drop() };
  });

  it("reports an unreachable Postgres at once", async () => {
    await expect(
      openQueues({ backend: { kind: "postgres", url: "postgres://x@127.0.0.1:9/x" } }),
    ).rejects.toMatchObject({
      code: "QUEUE_UNREACHABLE",
    });
  });

  it("is prepared once if several processes open it for the first time in parallel", async () => {
    const database = await freshDatabase();
    const backend = { kind: "postgres", url: database.url } as const;
    const all = await Promise.all([openQueues({ backend }), openQueues({ backend }), openQueues({ backend })]);
    await Promise.all(all.map((queues) => queues.close()));
    await database.drop();
  });

  it("is healthy while all its connections wait, and unhealthy while Postgres accepts no writes", async () => {
    const database = await freshDatabase();
    const queues = await openQueues({ backend: { kind: "postgres", url: database.url } });
    const other = new pg.Client(database.url);
    await other.connect();
    const health = () =>
      queues.probe().then(
        () => "well",
        (error: QueueError) => error.code,
      );
    await other.query("begin; lock table bullmq.job in access exclusive mode");
    const waiting = Promise.allSettled(Array.from({ length: 10 }, () => queues.counts()));
    const busy = `select count(*)::int as count from pg_locks
      where not granted and database = (select oid from pg_database where datname = current_database())`;
    await expect
      .poll(async () => (await other.query(busy)).rows[0].count, { timeout: 60_000 })
      .toBeGreaterThanOrEqual(8);
    await expect.poll(health, { timeout: 60_000 }).toBe("well");
    await other.query("commit");
    await waiting;
    await other.query(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
      create trigger refuse before insert or update on bullmq.meta for each row execute function refuse()`);
    await expect.poll(health, { timeout: 60_000 }).toBe("QUEUE_FULL");
    await other.query("drop trigger refuse on bullmq.meta");
    await expect.poll(health, { timeout: 60_000 }).toBe("well");
    await other.end();
    await queues.close();
    await database.drop();
  });

  it("works again after Postgres cut the first connections of queues and workers", async () => {
    const database = await freshDatabase();
    const at = new URL(database.url);
    const port = at.searchParams.get("port") ?? "5432";
    const host = at.searchParams.get("host");
    let cutting = false;
    let cut = 0;
    const between = createServer((socket) => {
      socket.on("error", () => undefined);
      if (cutting) {
        cut += 1;
        socket.destroy();
        return;
      }
      const server = host === null ? connect(Number(at.port), at.hostname) : connect(join(host, `.s.PGSQL.${port}`));
      server.on("error", () => socket.destroy());
      socket.on("close", () => server.destroy());
      server.on("close", () => socket.destroy());
      socket.pipe(server).pipe(socket);
    });
    await once(between.listen(0, "127.0.0.1"), "listening");
    const through = new URL(`postgres://127.0.0.1:${(between.address() as AddressInfo).port}${at.pathname}`);
    through.username = at.username;
    through.password = at.password;
    const errors: unknown[] = [];
    const backend = { kind: "postgres", url: through.href } as const;
    // The queue is prepared before the cuts. Later connections belong to another pool.
    const queues = await openQueues({ backend, onError: (error) => errors.push(error) });
    cutting = true;
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    const one = spec({ queue: "prompt" });
    // The job is returned, because it was not enqueued.
    expect(await queues.enqueue([one])).toEqual([one]);
    await expect.poll(() => cut).toBeGreaterThan(2);
    // The worker connects again and again, and waits in between: there is no busy loop.
    const [before, told] = [cut, errors.length];
    await expect.poll(() => cut).toBeGreaterThan(before + 5);
    expect(errors.length - told).toBeLessThan(10 * (cut - before));
    cutting = false;
    await expect.poll(() => queues.enqueue([one]), { interval: 200 }).toEqual([]);
    await expect.poll(() => heard).toEqual([jobId(one)]);
    await serving.close();
    await queues.close();
    between.close();
    await database.drop();
  });
});
