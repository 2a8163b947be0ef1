import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type BackendOptions, type Doorbell, jobId, openQueues, type QueueError, type Queues } from "@markmill/queue";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable, sharedRedis } from "../support/redis.ts";

const withRedis = await redisAvailable("the queue on Redis");
let activity = 0;

function bell(more: Partial<Doorbell> = {}): Doorbell {
  activity += 1;
  return {
    queue: "control",
    runId: "run",
    activityId: activity,
    epoch: 1,
    attempt: 1,
    rings: 1,
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

  it("delivers what is rung, ids only, each once", async () => {
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      async (delivered) => {
        expect(delivered).toMatchObject({ runId: "run", epoch: 1, attempt: 1, rings: 1 });
        heard.push(delivered.jobId);
        return { do: "done" };
      },
      { concurrency: 5 },
    );
    const bells = Array.from({ length: 20 }, () => bell());
    expect(await Promise.all(bells.map((one) => queues.ring([one])))).toEqual(bells.map(() => []));
    await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(20);
    expect(heard.sort()).toEqual(bells.map(jobId).sort());
    expect(serving.lastHeard()).toBeGreaterThan(0);
    await serving.close();
  });

  it("makes one job of the same ring twice, and a new job of a later ring", async () => {
    const one = bell({ queue: "prompt" });
    await queues.ring([one, one]);
    await queues.ring([one]);
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([jobId(one)]);
    await expect.poll(() => queues.live([one])).toEqual(new Map());
    await queues.ring([one]);
    await queues.ring([{ ...one, rings: 2 }]);
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([jobId(one), jobId({ ...one, rings: 2 })]);
    await serving.close();
  });

  it("knows which jobs it has, and how many", async () => {
    const [here, gone, later] = [
      bell({ queue: "supervisor" }),
      bell({ queue: "supervisor" }),
      bell({ queue: "supervisor", delayMs: 60_000 }),
    ];
    await queues.ring([here, later]);
    expect(await queues.live([here, gone, later])).toEqual(
      new Map<string, unknown>([
        [jobId(here), { is: "waiting" }],
        [jobId(later), { is: "delayed", forMs: expect.closeTo(60_000, -4) }],
      ]),
    );
    expect((await queues.counts()).supervisor).toMatchObject({ waiting: 1, delayed: 1 });
  });

  it("delivers again what the handler wants later", async () => {
    const times: number[] = [];
    const serving = queues.serve("prompt", async () => {
      times.push(performance.now());
      return times.length === 1 ? { do: "later", ms: 300 } : { do: "done" };
    });
    await queues.ring([bell({ queue: "prompt" })]);
    await expect.poll(() => times.length, { timeout: 10_000 }).toBe(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(250);
    await serving.close();
  });

  it("lets a calling job wait for the jobs of its callee, and adds them without it when it is gone", async () => {
    const heard: string[] = [];
    const call = bell();
    const child = bell({ queue: "execute", parentJob: jobId(call) });
    const orphan = bell({ queue: "execute", parentJob: "a999999-1-1" });
    const calls = queues.serve("control", async (delivered) => {
      heard.push(`call ${delivered.jobId}`);
      if (heard.length > 1) return { do: "done" };
      await queues.ring([child]);
      return { do: "children" };
    });
    await queues.ring([call]);
    await expect.poll(async () => (await queues.counts()).control["waiting-children"], { timeout: 10_000 }).toBe(1);
    expect(await queues.ring([orphan])).toEqual([]);
    const children = queues.serve("execute", async (delivered) => {
      heard.push(`child ${delivered.jobId}`);
      return { do: "done" };
    });
    await expect
      .poll(() => [...heard].sort(), { timeout: 10_000 })
      .toEqual(
        [`call ${jobId(call)}`, `call ${jobId(call)}`, `child ${jobId(child)}`, `child ${jobId(orphan)}`].sort(),
      );
    await Promise.all([calls.close(), children.close()]);
  });

  it("hands a killed process's job to another within seconds", async () => {
    const script = fileURLToPath(new URL("queue-worker.ts", import.meta.url));
    const victim = spawn(process.execPath, [script, place.backend.kind, place.backend.url, place.prefix], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const one = bell({ queue: "execute" });
    await queues.ring([one]);
    const [line] = await once(victim.stdout, "data");
    expect(String(line).trim()).toBe(jobId(one));
    const taken = new Promise<unknown>((resolve) => {
      queues.serve("execute", async ({ jobId, stalled }) => {
        resolve({ jobId, stalled });
        return { do: "done" };
      });
    });
    victim.kill("SIGKILL");
    const killed = performance.now();
    expect(await taken).toEqual({ jobId: jobId(one), stalled: 1 });
    expect(performance.now() - killed).toBeLessThan(15_000);
  });

  it("goes on with new connections when it is told that it is deaf", async () => {
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    serving.reconnect();
    const one = bell({ queue: "prompt" });
    await queues.ring([one]);
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([jobId(one)]);
    await serving.close();
  });
}

describe.skipIf(!withRedis)("on Redis", () => {
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

  it("that is away fails at once: opening says so, ringing reports it and gives the bells back, then works again", async () => {
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
    await queues.ring([bell()]);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const started = performance.now();
    const [one, two] = [bell(), bell({ queue: "prompt" })];
    expect(await queues.ring([one, two])).toEqual([one, two]);
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(errors.map(({ code }) => code)).toContain("QUEUE_UNREACHABLE");
    await server.restart();
    await expect.poll(() => queues.ring([one]), { timeout: 10_000, interval: 200 }).toEqual([]);
    await queues.close();
    await server.stop();
  });
});

describe("on Postgres", () => {
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
});
