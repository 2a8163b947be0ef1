import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JobSpec } from "@markmill/engine";
import { type BackendOptions, type Handler, jobId, openQueues, type QueueError, type Queues } from "@markmill/queue";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GatheringRedis } from "../../packages/queue/src/throughput/gathering-redis.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable, sharedRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { openWire } from "../support/wire.ts";

const withRedis = await redisAvailable("the queue on Redis");
let activity = 0;

function spec(more: Partial<JobSpec> = {}): JobSpec {
  activity += 1;
  return {
    queue: "control",
    runId: "run",
    activityId: activity,
    epoch: 1,
    attempt: 1,
    enqueues: 1,
    delayMs: 0,
    parentJob: null,
    ...more,
  };
}

function behaves(open: () => Promise<{ backend: BackendOptions; prefix: string; close(): Promise<void> }>): void {
  let place: Awaited<ReturnType<typeof open>>;
  let queues: Queues;
  const errors: QueueError[] = [];
  beforeAll(async () => {
    place = await open();
    queues = await openQueues({ ...place, onError: (error) => errors.push(error) });
  });
  afterAll(async () => {
    await queues?.close();
    await place?.close();
  });

  it("delivers what is enqueued, ids only, each once", async () => {
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      async (delivered) => {
        expect(delivered).toMatchObject({ runId: "run", epoch: 1, attempt: 1, enqueues: 1 });
        heard.push(delivered.jobId);
        return { do: "done" };
      },
      { concurrency: 5 },
    );
    const specs = Array.from({ length: 20 }, () => spec());
    expect(await Promise.all(specs.map((one) => queues.enqueue([one])))).toEqual(specs.map(() => []));
    await expect.poll(() => heard.length).toBe(20);
    expect(heard.sort()).toEqual(specs.map(jobId).sort());
    expect(serving.lastHeard()).toBeGreaterThan(0);
    await serving.close();
  });

  it("makes one job of the same enqueue twice, and a new job of a later enqueue", async () => {
    const one = spec({ queue: "execute" });
    await queues.enqueue([one, one]);
    await queues.enqueue([one]);
    const heard: string[] = [];
    const serving = queues.serve("execute", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    await expect.poll(() => heard).toEqual([jobId(one)]);
    await expect.poll(() => queues.live([one])).toEqual(new Map());
    await queues.enqueue([one]);
    await queues.enqueue([{ ...one, enqueues: 2 }]);
    await expect.poll(() => heard).toEqual([jobId(one), jobId({ ...one, enqueues: 2 })]);
    await serving.close();
  });

  it("handles as many at once as it is told to while it serves", async () => {
    const ends = Promise.withResolvers<void>();
    const serving = queues.serve("prompt", async () => {
      await ends.promise;
      return { do: "done" };
    });
    serving.setConcurrency(3);
    await queues.enqueue(Array.from({ length: 4 }, () => spec({ queue: "prompt" })));
    await expect.poll(() => serving.active()).toBe(3);
    ends.resolve();
    await expect.poll(() => queues.counts()).toMatchObject({ prompt: { active: 0, waiting: 0 } });
    await serving.close();
  });

  it("knows which jobs it has, and how many", async () => {
    const [here, gone, later] = [
      spec({ queue: "supervisor" }),
      spec({ queue: "supervisor" }),
      spec({ queue: "supervisor", delayMs: 3_600_000 }),
    ];
    await queues.enqueue([here, later]);
    expect(await queues.live([here, gone, later])).toEqual(
      new Map<string, unknown>([
        [jobId(here), { is: "waiting" }],
        [jobId(later), { is: "delayed", forMs: expect.closeTo(3_600_000, -6) }],
      ]),
    );
    expect((await queues.counts()).supervisor).toMatchObject({ waiting: 1, delayed: 1 });
  });

  it("delivers again what the handler wants later, when its time has come", async () => {
    const [soon, late] = [spec({ queue: "prompt" }), spec({ queue: "prompt" })];
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      if (delivered.jobId === jobId(late)) return { do: "later", ms: 3_600_000 };
      return heard.filter((one) => one === jobId(soon)).length === 1 ? { do: "later", ms: 300 } : { do: "done" };
    });
    await queues.enqueue([late]);
    await expect.poll(() => queues.live([late])).toMatchObject(new Map([[jobId(late), { is: "delayed" }]]));
    await queues.enqueue([soon]);
    await expect.poll(() => heard).toEqual([late, soon, soon].map(jobId));
    expect(await queues.live([late])).toEqual(
      new Map([[jobId(late), { is: "delayed", forMs: expect.closeTo(3_600_000, -6) }]]),
    );
    await serving.close();
  });

  it("lets a calling job wait for the jobs of its callee, and adds them without it when it is gone", async () => {
    const heard: string[] = [];
    const call = spec();
    const child = spec({ queue: "execute", parentJob: jobId(call) });
    const orphan = spec({ queue: "execute", parentJob: "a999999-1-1" });
    const calls = queues.serve("control", async (delivered) => {
      heard.push(`call ${delivered.jobId}`);
      if (heard.length > 1) return { do: "done" };
      await queues.enqueue([child]);
      return { do: "children" };
    });
    await queues.enqueue([call]);
    await expect.poll(async () => (await queues.counts()).control["waiting-children"]).toBe(1);
    expect(await queues.enqueue([orphan])).toEqual([]);
    const children = queues.serve("execute", async (delivered) => {
      heard.push(`child ${delivered.jobId}`);
      return { do: "done" };
    });
    await expect
      .poll(() => [...heard].sort())
      .toEqual(
        [`call ${jobId(call)}`, `call ${jobId(call)}`, `child ${jobId(child)}`, `child ${jobId(orphan)}`].sort(),
      );
    await Promise.all([calls.close(), children.close()]);
  });

  it("delivers what handlers enqueue, from the first time on, one job after the other", async () => {
    const chain = Array.from({ length: 30 }, () => spec());
    const aside = [spec({ queue: "prompt" }), spec({ queue: "prompt" }), spec({ queue: "prompt", delayMs: 200 })];
    const heard: string[] = [];
    const steps = queues.serve("control", async (delivered, enqueue) => {
      heard.push(delivered.jobId);
      const next = chain[heard.length];
      await enqueue(heard.length === 1 ? [...chain.slice(1, 2), ...aside] : next === undefined ? [] : [next]);
      return { do: "done" };
    });
    const heardAside: string[] = [];
    const prompts = queues.serve("prompt", async (delivered) => {
      expect(delivered.queue).toBe("prompt");
      heardAside.push(delivered.jobId);
      return { do: "done" };
    });
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toEqual(chain.map(jobId));
    await expect.poll(() => [...heardAside].sort()).toEqual(aside.map(jobId));
    await Promise.all([steps.close(), prompts.close()]);
  });

  it("keeps no job that is done where jobs are handed over, 100 elsewhere, and 500 that failed", async () => {
    // Postgres: those that end at the same time do not see each other, until the next one ends.
    const concurrency = 10;
    const about = (count: number) => expect.toSatisfy((kept: number) => kept >= count && kept < count + concurrency);
    const handled = { control: 0, prompt: 0, execute: 0 };
    const servings = (["control", "prompt", "execute"] as const).map((name) =>
      queues.serve(
        name,
        async () => {
          handled[name] += 1;
          if (name === "execute" && handled.execute > 130) throw new Error("a defect");
          return { do: "done" };
        },
        { concurrency },
      ),
    );
    const many = (queue: JobSpec["queue"], length: number) => Array.from({ length }, () => spec({ queue }));
    const specs = [...many("control", 50), ...many("prompt", 50), ...many("execute", 660)];
    expect(await queues.enqueue(specs)).toEqual([]);
    await expect.poll(() => handled).toEqual({ control: 50, prompt: 50, execute: 660 });
    await Promise.all(servings.map((serving) => serving.close()));
    const { control, prompt, execute } = await queues.counts();
    expect({ control, prompt, execute }).toMatchObject({
      control: { completed: 0, failed: 0, active: 0 },
      prompt: { completed: 0, failed: 0, active: 0 },
      execute: { completed: about(100), failed: about(500), active: 0 },
    });
  });

  it("keeps no more of a call and of its callee than of other jobs", async () => {
    const call = spec();
    const callee = [spec({ parentJob: jobId(call) }), spec({ parentJob: jobId(call) })];
    const heard: string[] = [];
    const serving = queues.serve("control", async (delivered, enqueue) => {
      heard.push(delivered.jobId);
      if (heard.length > 1) return { do: "done" };
      await enqueue(callee);
      return { do: "children" };
    });
    await queues.enqueue([call]);
    await expect
      .poll(() => [heard[0], heard.slice(1, 3).sort(), heard[3]])
      .toEqual([jobId(call), callee.map(jobId), jobId(call)]);
    await serving.close();
    expect((await queues.counts()).control).toMatchObject({
      completed: 0,
      "waiting-children": 0,
      waiting: 0,
      active: 0,
    });
    expect(await queues.live([call, ...callee])).toEqual(new Map());
  });

  it("waits for what it holds when it is closed, until it is closed by force", async () => {
    const own = await openQueues(place);
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const serving = own.serve("supervisor", async () => {
      held.resolve();
      await released.promise;
      return { do: "done" };
    });
    await own.enqueue([spec({ queue: "supervisor" })]);
    await held.promise;
    const patient = Promise.all([serving.close(), serving.close()]).then(() => "handled");
    const soon = new Promise((resolve) => setTimeout(resolve, 200, "held"));
    expect(await Promise.race([patient, soon])).toBe("held");
    const forced = serving.close(true).then(() => own.close());
    const late = new Promise((resolve) => setTimeout(resolve, 60_000, "late"));
    expect(await Promise.race([forced, late])).toBeUndefined();
    released.resolve();
    await patient;
  });

  it("hands a killed process's job to another within seconds", async () => {
    const script = fileURLToPath(new URL("queue-worker.ts", import.meta.url));
    const victim = spawn(process.execPath, [script, place.backend.kind, place.backend.url, place.prefix], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const one = spec({ queue: "execute" });
    await queues.enqueue([one]);
    const [line] = await once(victim.stdout, "data");
    expect(String(line).trim()).toBe(jobId(one));
    const taken = new Promise<unknown>((resolve) => {
      queues.serve("execute", async ({ jobId, stalled }) => {
        resolve({ jobId, stalled });
        return { do: "done" };
      });
    });
    victim.kill("SIGKILL");
    expect(await taken).toEqual({ jobId: jobId(one), stalled: 1 });
  });

  it("goes on with new connections when it is told that it is stalled", async () => {
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    serving.reconnect();
    const one = spec({ queue: "prompt" });
    await queues.enqueue([one]);
    await expect.poll(() => heard).toEqual([jobId(one)]);
    await serving.close();
  });

  it("says whether it is paused: a worker that hears nothing then is not stalled", async () => {
    const serving = queues.serve("prompt", async () => ({ do: "done" }));
    expect(await serving.isPaused()).toBe(false);
    await queues.watch("prompt").pause();
    expect(await serving.isPaused()).toBe(true);
    await queues.watch("prompt").resume();
    expect(await serving.isPaused()).toBe(false);
    await serving.close();
  });

  it("new connections are no delivery: a worker that hears nothing after them is still stalled", async () => {
    const serving = queues.serve("prompt", async () => ({ do: "done" }));
    const before = serving.lastHeard();
    serving.reconnect();
    expect(serving.lastHeard()).toBe(before);
    await serving.close();
  });
}

describe.skipIf(!withRedis)("a queue on Redis", () => {
  behaves(async () => {
    const { url, prefix } = await sharedRedis();
    return { backend: { kind: "redis", url }, prefix, close: async () => undefined };
  });

  it("refuses a server that evicts", async () => {
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

  it("tells Redis a handler's enqueues before its job is let go, and no handler waits for the answer", {
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
        // Nothing is answered until the handler has enqueued.
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
    // A job is enqueued when it is first spoken of, and let go when it is last.
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
      // What is handed over is enqueued and let go by the same script.
      if (handed) expect(enqueued).toBe(done);
      else expect(enqueued).toBeLessThan(done);
    }
    monitor.disconnect();
    redis.disconnect();
    await queues.close();
    await server.stop();
  });

  it("tells Redis all that one turn has to say in one write, in order, also when the connection is cut in the middle", async () => {
    const server = await freshRedis();
    const admin = new Redis(server.url);
    const gathering = new GatheringRedis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    const readsOf = async () => Number(/total_reads_processed:(\d+)/.exec(await admin.info("stats"))?.[1]);
    const say = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, index) => gathering.rpush("said", from + index)));
    await gathering.ping();
    const before = await readsOf();
    await say(0, 50);
    // This one, and the second INFO.
    expect((await readsOf()) - before).toBe(2);

    const cutWhileCorked = say(50, 60);
    gathering.stream.destroy();
    await Promise.all([cutWhileCorked, say(60, 70)]);
    const id = await gathering.client("ID");
    const around = [say(70, 80), admin.client("KILL", "ID", id), say(80, 90)];
    await Promise.all(around);
    await say(90, 100);
    // What was said to a connection that is cut is said again: at least once each, the first time in order.
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

  it("delivers what handlers enqueue although Redis cuts their connections", async () => {
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

  it("that goes away between a handler's enqueue and the end of its job keeps nobody from closing by force", async () => {
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

  it("that swallows everything leaves no delivery in hand: a worker that hears nothing then is stalled", async () => {
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

  it("that is away fails at once: opening says so, enqueuing reports it and gives the specs back, then works again", async () => {
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

  it("that is away fails at once", async () => {
    await expect(
      openQueues({ backend: { kind: "postgres", url: "postgres://x@127.0.0.1:9/x" } }),
    ).rejects.toMatchObject({
      code: "QUEUE_UNREACHABLE",
    });
  });

  it("opened by several at once for the first time is prepared once", async () => {
    const database = await freshDatabase();
    const backend = { kind: "postgres", url: database.url } as const;
    const all = await Promise.all([openQueues({ backend }), openQueues({ backend }), openQueues({ backend })]);
    await Promise.all(all.map((queues) => queues.close()));
    await database.drop();
  });

  it("is well while all connections of the queue wait, and not when it takes no writes", async () => {
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

  it("that cuts the first connections of queues and workers is used when it takes them again", async () => {
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
    // It is prepared while all is well; what follows has a pool of its own.
    const queues = await openQueues({ backend, onError: (error) => errors.push(error) });
    cutting = true;
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    const one = spec({ queue: "prompt" });
    // Told back as not enqueued.
    expect(await queues.enqueue([one])).toEqual([one]);
    await expect.poll(() => cut).toBeGreaterThan(2);
    // It asks again and again, and each time there is a connection to be cut: it does not spin.
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
