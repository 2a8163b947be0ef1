import type { JobSpec } from "@markmill/engine";
import { type BackendOptions, type Handler, jobId, openQueues, type QueueError, type Queues } from "@markmill/queue";
import { createPostgresBackend, Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { handOverOnPostgres } from "../../packages/queue/src/throughput/hand-over-postgres.ts";
import { answersLost } from "../support/answers-lost.ts";
import { freshDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";

const withRedis = await redisAvailable("handing jobs over on Redis");
const prefix = "ho";
const quick = { lockDuration: 2_000, stalledInterval: 500 };
let activity = 0;

function spec(more: Partial<JobSpec> = {}): JobSpec {
  activity += 1;
  const ids = { runId: "run", activityId: activity, epoch: 1, attempt: 1, enqueues: 1 };
  return { queue: "control", ...ids, delayMs: 0, parentJob: null, ...more };
}

const specs = (count: number) => Array.from({ length: count }, () => spec());

/** Enqueues the next job of a chain in every delivery. */
function walking(
  chain: readonly JobSpec[],
  heard: string[],
  meanwhile: Handler = async () => ({ do: "done" }),
): Handler {
  return async (delivered, enqueue, slot) => {
    heard.push(delivered.jobId);
    const at = chain.findIndex((one) => jobId(one) === delivered.jobId);
    await enqueue(at < 0 ? [] : chain.slice(at + 1, at + 2));
    return meanwhile(delivered, enqueue, slot);
  };
}

/** A queue server, and what a person could look up on it. */
interface Place {
  readonly backend: BackendOptions;
  /** The control queue as the job board shows it. */
  readonly board: Pick<Queue, "getJobCounts" | "getJob" | "getJobs" | "pause" | "resume">;
  /** All fields of a job; undefined: the job does not exist. */
  kept(id: string): Promise<Record<string, unknown> | undefined>;
  /** The worker's lock on the job has not expired. */
  isLocked(id: string): Promise<boolean>;
  jobs(): Promise<number>;
  /** The number of jobs that were in the waiting list since the last wipe. */
  waited(): Promise<number>;
  wipe(): Promise<void>;
  close(): Promise<void>;
}

async function onRedis(): Promise<Place> {
  const server = await freshRedis();
  const redis = new Redis(server.url);
  const board = new Queue("control", { connection: { url: server.url }, prefix });
  const key = (id: string) => `${prefix}:control:${id}`;
  return {
    backend: { kind: "redis", url: server.url },
    board,
    async kept(id) {
      const { data = "", opts = "", ...fields } = await redis.hgetall(key(id));
      return data === "" ? undefined : { ...fields, data: JSON.parse(data), opts: JSON.parse(opts) };
    },
    isLocked: async (id) => (await redis.pttl(`${key(id)}:lock`)) > 0,
    jobs: async () => (await redis.keys(key("a*-*"))).length,
    // BullMQ counts every added job.
    waited: async () => Number(await redis.get(key("id"))),
    async wipe() {
      await redis.flushall();
    },
    async close() {
      await board.close();
      redis.disconnect();
      await server.stop();
    },
  };
}

async function onPostgres(): Promise<Place> {
  const database = await freshDatabase();
  const backend = { kind: "postgres", url: database.url } as const;
  await (await openQueues({ backend })).close();
  const pool = new pg.Pool({ connectionString: database.url, options: "-c search_path=bullmq", max: 3 });
  const board = new Queue("control", { connection: pool as never }, createPostgresBackend);
  const count = async (text: string) =>
    (await pool.query<{ n: number }>(`select count(*)::integer as n ${text}`)).rows[0]?.n ?? -1;
  return {
    backend,
    board,
    kept: async (id) => (await pool.query("select * from job where id = $1", [id])).rows[0],
    async isLocked(id) {
      const locked = "lock_token is not null and locked_until_ms > extract(epoch from clock_timestamp()) * 1000";
      return (await count(`from job where id = '${id}' and ${locked}`)) === 1;
    },
    jobs: () => count("from job"),
    waited: () => count("from event where event = 'waiting'"),
    async wipe() {
      await pool.query("delete from job");
      await pool.query("delete from event");
    },
    async close() {
      await board.close();
      await pool.end();
      await database.drop();
    },
  };
}

describe.skipIf(!withRedis)("a hand-over on Redis", () => behaves(onRedis));
describe("a hand-over on Postgres", () => behaves(onPostgres));

it("a hand-over on Postgres does not wait for a locked job row, which would be a deadlock", async () => {
  const database = await freshDatabase();
  const queues = await openQueues({ backend: { kind: "postgres", url: database.url } });
  const [free, held, after, ...rest] = specs(4);
  await queues.enqueue([free as JobSpec, held as JobSpec]);
  const pool = new pg.Pool({ connectionString: database.url, options: "-c search_path=bullmq", max: 3 });
  await pool.query("update job set state = 'active', lock_token = 'slot', locked_until_ms = 9e15");
  const lock = "select id from job where id = $1 for update";
  const stalledCheck = await pool.connect();
  await stalledCheck.query("begin");
  await stalledCheck.query(lock, [jobId(held as JobSpec)]);
  const oneOf = (from?: JobSpec, to?: JobSpec) => ({
    from: jobId(from as JobSpec),
    to: jobId(to as JobSpec),
    token: "slot",
    data: "{}",
  });
  const act = handOverOnPostgres(pool, "control", 3_000);
  expect(await act([oneOf(free, after), oneOf(held, rest[0])], Date.now())).toEqual([true, false]);
  expect((await stalledCheck.query(lock, [jobId(free as JobSpec)])).rows).toEqual([]);
  await stalledCheck.query("commit");
  stalledCheck.release();
  await pool.end();
  await queues.close();
  await database.drop();
});

function behaves(make: () => Promise<Place>): void {
  let place: Place;
  let board: Place["board"];
  let queues: Queues;
  const errors: QueueError[] = [];
  const open = (backend = place.backend) => openQueues({ backend, prefix, onError: (error) => errors.push(error) });

  beforeAll(async () => {
    place = await make();
    board = place.board;
  });
  afterAll(async () => {
    await place?.close();
  });
  beforeEach(async () => {
    await place.wipe();
    errors.length = 0;
    queues = await open();
  });
  afterEach(async () => {
    await queues.close();
  });

  it("reports a refusal before the refused job is enqueued", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const told: string[] = [];
    const serving = queues.serve("control", async (delivered, enqueue, slot) => {
      const isFirst = delivered.jobId === jobId(first);
      told.push(`${isFirst ? "first" : "second"} ${delivered.stalled}`);
      if (!isFirst) return { do: "done" };
      expect(slot.countOn()).toBe(true);
      slot.onRefused(second.activityId, async () => {
        expect(await place.kept(jobId(second))).toBeUndefined();
        told.push("refused");
      });
      await enqueue([second]);
      // A paused queue allows no hand-over.
      await board.pause();
      return { do: "done" };
    });
    await queues.enqueue([first]);
    await expect.poll(() => told).toEqual(["first 0", "refused"]);
    await expect.poll(() => place.kept(jobId(second))).toBeDefined();
    await board.resume();
    await expect.poll(() => told).toEqual(["first 0", "refused", "second 0"]);
    await serving.close();
  });

  it("reports no refusal when it succeeds", async () => {
    const [first, second, third] = specs(3) as [JobSpec, JobSpec, JobSpec];
    const told: string[] = [];
    const serving = queues.serve("control", async (delivered, enqueue, slot) => {
      told.push(delivered.jobId);
      if (delivered.jobId !== jobId(first)) return { do: "done" };
      expect(slot.countOn()).toBe(true);
      slot.onRefused(third.activityId, async () => void told.push("refused"));
      // The expected job is handed over, at any position in the list.
      await enqueue([second, third]);
      return { do: "done" };
    });
    await queues.enqueue([first]);
    await expect.poll(() => told.length).toBe(3);
    expect(told.toSorted()).toEqual([first, second, third].map(jobId).toSorted());
    expect(await place.waited()).toBe(2);
    await serving.close();
  });

  it("delivers each job of a run once, in order, and leaves nothing", async () => {
    const chains = Array.from({ length: 8 }, () => specs(12));
    const heard: string[] = [];
    const handlers = chains.map((chain) => walking(chain, heard));
    const handler: Handler = (delivered, enqueue, slot) => {
      const at = chains.findIndex((chain) => chain.some((one) => jobId(one) === delivered.jobId));
      expect(delivered).toMatchObject({ queue: "control", runId: "run", epoch: 1, stalled: 0 });
      return (handlers[at] as Handler)(delivered, enqueue, slot);
    };
    const serving = queues.serve("control", handler, { concurrency: 4 });
    await queues.enqueue(chains.map(([first]) => first as JobSpec));
    await expect.poll(() => heard.length).toBe(96);
    await serving.close();
    expect(new Set(heard).size).toBe(96);
    for (const chain of chains) {
      const order = chain.map((one) => heard.indexOf(jobId(one)));
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
    expect(await place.waited()).toBe(8);
    expect(await place.jobs()).toBe(0);
    expect(await board.getJobCounts()).toMatchObject({ active: 0, waiting: 0, failed: 0, delayed: 0 });
    expect(errors).toEqual([]);
  });

  it("delivers the prompts of a run one after the other too", async () => {
    const chain = specs(4).map((one): JobSpec => ({ ...one, queue: "prompt" }));
    const waiting = spec({ queue: "prompt" });
    const heard: string[] = [];
    // The test enqueues one after the other, because jobs that are enqueued together have no order.
    await queues.enqueue([chain[0] as JobSpec]);
    await queues.enqueue([waiting]);
    const serving = queues.serve("prompt", walking(chain, heard), { concurrency: 1 });
    await expect.poll(() => heard).toEqual([...chain, waiting].map(jobId));
    await serving.close();
  });

  it("creates a job as BullMQ creates and starts one", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const kept: Record<string, unknown>[] = [];
    const serving = queues.serve(
      "control",
      walking([first, second], [], async ({ jobId: id }) => {
        kept.push((await place.kept(id)) ?? {});
        expect(await board.getJobCounts("active", "waiting")).toEqual({ active: 1, waiting: 0 });
        expect(await place.isLocked(id)).toBe(true);
        const job = await board.getJob(id);
        expect(await job?.getState()).toBe("active");
        expect(job).toMatchObject({ name: "activity", attemptsStarted: 1, attemptsMade: 0, delay: 0, priority: 0 });
        return { do: "done" };
      }),
      // This holds on a machine of any speed.
      { lockDuration: 60_000 },
    );
    await queues.enqueue([first]);
    await expect.poll(() => kept.length).toBe(2);
    await serving.close();
    const passing = /^(timestamp|processedOn|\w+_ms|seq)$/;
    const alike = (job: Record<string, unknown>, spec: JobSpec) =>
      JSON.stringify(Object.entries(job).filter(([name, value]) => !passing.test(name) || value === null))
        .replaceAll(jobId(spec), "this job")
        .replaceAll(String(spec.activityId), "this activity");
    const [fetched = {}, handed = {}] = kept;
    expect(Object.keys(handed).sort()).toEqual(Object.keys(fetched).sort());
    expect(alike(handed, second)).toBe(alike(fetched, first));
  });

  it("delivers a job again that was lost with its worker, and marks it as stalled", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const never = new Promise<never>(() => undefined);
    const doomed = await open();
    const dying = doomed.serve(
      "control",
      walking([first, second], heard, ({ jobId: id }) =>
        id === jobId(second) ? never : Promise.resolve({ do: "done" }),
      ),
      quick,
    );
    await doomed.enqueue([first]);
    await expect.poll(() => heard).toEqual([jobId(first), jobId(second)]);
    await dying.close(true);
    const again: unknown[] = [];
    const serving = queues.serve(
      "control",
      async ({ jobId, stalled }) => {
        again.push({ jobId, stalled });
        return { do: "done" };
      },
      quick,
    );
    await expect.poll(() => again).toEqual([{ jobId: jobId(second), stalled: 1 }]);
    await serving.close();
  });

  it("keeps its lock for as long as the handler runs", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const handler = walking([first, second], heard, async ({ jobId: id }) => {
      if (id === jobId(second)) await new Promise((resolve) => setTimeout(resolve, 5_000));
      return { do: "done" };
    });
    const servings = [queues.serve("control", handler, quick), queues.serve("control", handler, quick)];
    await queues.enqueue([first]);
    await expect.poll(() => heard.length).toBe(2);
    await expect.poll(() => board.getJobCounts("active")).toEqual({ active: 0 });
    await Promise.all(servings.map((serving) => serving.close()));
    expect(heard).toEqual([jobId(first), jobId(second)]);
  });

  it("does not happen while the queue is paused, and the next job waits", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      walking([first, second], heard, async () => {
        if (heard.length === 1) await board.pause();
        return { do: "done" };
      }),
    );
    await queues.enqueue([first]);
    await expect.poll(() => heard).toEqual([jobId(first)]);
    await expect.poll(() => place.kept(jobId(first))).toBeUndefined();
    const [one, ...others] = await board.getJobs();
    expect([one?.id, await one?.getState(), others.length]).toEqual([
      jobId(second),
      expect.stringMatching(/^(waiting|paused)$/),
      0,
    ]);
    await board.resume();
    await expect.poll(() => heard).toEqual([jobId(first), jobId(second)]);
    await serving.close();
  });

  /** A chain of activities that are safe to repeat. The queue is paused in the first one, so that the hand-over is refused. */
  const pausing = (chain: readonly JobSpec[], heard: string[], meanwhile?: Handler): Handler =>
    walking(chain, heard, async (delivered, enqueue, slot) => {
      for (const { activityId } of chain) slot.mayBeginEarly(activityId);
      if (heard.length === 1) await board.pause();
      return (await meanwhile?.(delivered, enqueue, slot)) ?? { do: "done" };
    });

  it("enqueues the successors of an early activity when the hand-over to it is refused", async () => {
    const chain = specs(3);
    const [first, second, third] = chain.map(jobId);
    const heard: string[] = [];
    const serving = queues.serve("control", pausing(chain, heard));
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(async () => (await board.getJobs()).map(({ id }) => id)).toEqual([third]);
    expect(heard).toEqual([first, second]);
    await board.resume();
    await expect.poll(() => heard).toEqual([first, second, third]);
    await expect.poll(() => place.jobs()).toBe(0);
    await serving.close();
    expect(errors).toEqual([]);
  });

  it.each(["puts itself off", "throws"])(
    "enqueues an early activity again when the hand-over to it is refused and the activity %s",
    async (how) => {
      const chain = specs(2);
      const [first, second] = chain.map(jobId);
      const heard: string[] = [];
      const handler = pausing(chain, heard, async () => {
        if (heard.length !== 2) return { do: "done" };
        if (how === "throws") throw new Error("a bug");
        return { do: "later", ms: 300 };
      });
      const serving = queues.serve("control", handler);
      await queues.enqueue(chain.slice(0, 1));
      await expect.poll(async () => (await board.getJobs()).map(({ id }) => id)).toEqual([second]);
      await board.resume();
      await expect.poll(() => heard).toEqual([first, second, second]);
      await expect.poll(() => place.jobs()).toBe(0);
      await serving.close();
      expect(errors.map(({ message }) => message)).toEqual(how === "throws" ? [expect.stringContaining("a bug")] : []);
    },
  );

  it("delays the job of an early activity that asks to run later", async () => {
    const chain = specs(2);
    const [first, second] = chain.map(jobId);
    const heard: string[] = [];
    const handler = walking(chain, heard, async (_, __, slot) => {
      for (const { activityId } of chain) slot.mayBeginEarly(activityId);
      return heard.length === 2 ? { do: "later", ms: 300 } : { do: "done" };
    });
    const serving = queues.serve("control", handler);
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toEqual([first, second, second]);
    await expect.poll(() => place.jobs()).toBe(0);
    await serving.close();
  });

  it("delivers the jobs of early activities in order, and leaves nothing", async () => {
    const chains = Array.from({ length: 8 }, () => specs(12));
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      (delivered, enqueue, slot) => {
        const chain = chains.find((one) => one.some((spec) => jobId(spec) === delivered.jobId)) ?? [];
        for (const { activityId } of chain) slot.mayBeginEarly(activityId);
        return walking(chain, heard)(delivered, enqueue, slot);
      },
      { concurrency: 4 },
    );
    await queues.enqueue(chains.map(([first]) => first as JobSpec));
    await expect.poll(() => heard.length).toBe(96);
    await serving.close();
    for (const chain of chains) {
      const ids = chain.map(jobId);
      expect(heard.filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect(await place.waited()).toBe(8);
    expect(await place.jobs()).toBe(0);
    expect(errors).toEqual([]);
  });

  it("creates no second job if another process has enqueued the job", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      walking([first, second], heard, async () => {
        if (heard.length === 1) await queues.enqueue([second]);
        return { do: "done" };
      }),
    );
    await queues.enqueue([first]);
    await expect.poll(() => heard).toEqual([jobId(first), jobId(second)]);
    await expect.poll(() => board.getJobCounts("active", "waiting")).toEqual({ active: 0, waiting: 0 });
    await serving.close();
    expect(heard).toHaveLength(2);
  });

  it("does not happen if the finished job runs again later, and its successor is enqueued", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    let put = false;
    const serving = queues.serve(
      "control",
      walking([first, second], heard, async ({ jobId: id }) => {
        if (put || id !== jobId(first)) return { do: "done" };
        put = true;
        return { do: "later", ms: 400 };
      }),
    );
    await queues.enqueue([first]);
    // The second delivery enqueues its successor once more.
    const order = [first, second, first, second].map(jobId);
    await expect.poll(() => heard).toEqual(order);
    await serving.close();
  });

  it("enqueues the next job when the handler throws", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const handler = walking([first, second], heard, async ({ jobId: id }) => {
      if (id === jobId(first)) throw new Error("a bug");
      return { do: "done" };
    });
    const serving = queues.serve("control", handler);
    await queues.enqueue([first]);
    await expect.poll(() => heard).toEqual([jobId(first), jobId(second)]);
    await serving.close();
  });

  it("enqueues the next job when the finished job no longer exists", async () => {
    const [first, second] = specs(2) as [JobSpec, JobSpec];
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      walking([first, second], heard, async () => {
        if (heard.length === 1) await place.wipe();
        return { do: "done" };
      }),
    );
    await queues.enqueue([first]);
    await expect.poll(() => heard).toEqual([jobId(first), jobId(second)]);
    await serving.close();
  });

  it("goes to the next due job of the same queue, and the other jobs are enqueued", async () => {
    const first = spec();
    const [beside, model, later, child] = [
      spec(),
      spec({ queue: "prompt" }),
      spec({ delayMs: 300 }),
      spec({ parentJob: "a0-1-1" }),
    ];
    const heard: string[] = [];
    const handler: Handler = async (delivered, enqueue) => {
      heard.push(delivered.jobId);
      if (delivered.jobId === jobId(first)) await enqueue([model, later, child, beside, first]);
      return { do: "done" };
    };
    const servings = (["control", "prompt"] as const).map((name) => queues.serve(name, handler));
    await queues.enqueue([first]);
    const all = [first, beside, model, later, child].map(jobId).sort();
    await expect.poll(() => heard.toSorted()).toEqual(all);
    expect(heard.filter((id) => id !== jobId(model))[1]).toBe(jobId(beside));
    await Promise.all(servings.map((serving) => serving.close()));
  });

  it("lets waiting jobs run after a while", async () => {
    const chain = specs(200);
    const other = spec();
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      walking(chain, heard, async () => {
        if (heard.length === 1) await queues.enqueue([other]);
        return { do: "done" };
      }),
    );
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard.length).toBe(201);
    await serving.close();
    expect(heard.indexOf(jobId(other))).toBeLessThan(60);
  });

  it("lets waiting jobs run soon if activities take long", async () => {
    const chain = specs(20);
    const other = spec();
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      walking(chain, heard, async () => {
        if (heard.length === 1) await queues.enqueue([other]);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { do: "done" };
      }),
    );
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toContain(jobId(other));
    expect(heard.length).toBeLessThan(8);
    await serving.close();
  });

  it("does not go from a job to itself", async () => {
    const one = spec();
    const heard: string[] = [];
    const serving = queues.serve("control", async ({ jobId: id }, enqueue) => {
      heard.push(id);
      await enqueue([one]);
      return { do: "done" };
    });
    await queues.enqueue([one]);
    await expect.poll(() => heard.length).toBe(1);
    await expect.poll(() => place.jobs()).toBe(0);
    await serving.close();
    expect(heard).toHaveLength(1);
  });

  it("stops with its worker, and the next job waits for another worker", async () => {
    const chain = specs(10_000);
    const heard: string[] = [];
    const serving = queues.serve("control", walking(chain, heard));
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard.length).toBeGreaterThan(5);
    await serving.close();
    const reached = heard.length;
    expect(await board.getJobCounts("active", "waiting")).toEqual({ active: 0, waiting: 1 });
    expect(await queues.live([chain[reached] as JobSpec])).toEqual(
      new Map([[jobId(chain[reached] as JobSpec), { is: "waiting" }]]),
    );
  });

  it("is not done twice if its answer is lost with the connection", async () => {
    const chain = specs(4);
    const cut = await answersLost(place.backend.url, jobId(chain[2] as JobSpec));
    const worker = await open({ ...place.backend, url: cut.url });
    const heard: string[] = [];
    const serving = worker.serve("control", walking(chain, heard), quick);
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toEqual(chain.map(jobId));
    expect(cut.times()).toBe(1);
    await expect.poll(() => board.getJobCounts("active", "waiting")).toEqual({ active: 0, waiting: 0 });
    await serving.close();
    await worker.close();
    await cut.close();
    expect(heard).toHaveLength(4);
  });
}
