// The supervisor on a real store and a real queue, without workers. The test creates every state by hand.

import type { JobSpec } from "@markmill/engine";
import { openQueues, type Queues, type Serving } from "@markmill/queue";
import { type RunningSupervisor, type SupervisorParts, startSupervisor } from "@markmill/worker/supervisor";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { beat, createRun, getRun, listWorkers, openStore, type Store } from "../support/store.ts";
import { claimed, definition, onePrompt, only } from "./store-programs.ts";

const withRedis = await redisAvailable("the supervisor while Redis is down");
let database: TestDatabase;
let store: Store;
let queues: Queues;
let supervisor: RunningSupervisor | null;
/** A worker that holds a job until `release`. */
let serving: Serving | null;
let released: Promise<void>;
let release: () => void;
let logged: { readonly fields: object; readonly message: string }[];

beforeEach(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one", leaseMs: 60_000 });
  queues = await openQueues({ backend: { kind: "postgres", url: database.url } });
  supervisor = null;
  serving = null;
  ({ promise: released, resolve: release } = Promise.withResolvers<void>());
  logged = [];
});
afterEach(async () => {
  await supervisor?.stop();
  release();
  await serving?.close(true);
  await queues.close();
  await store.close();
  await database.drop();
});

function supervise(more: Partial<SupervisorParts> = {}): void {
  const note = (fields: object, message: string) => void logged.push({ fields, message });
  const log = { info: note, warn: note, error: note };
  supervisor = startSupervisor({ store, queues, log, retentionDays: 0, lookMs: 50, quietMs: 300, ...more });
}

async function jobsOf(job: JobSpec): Promise<number> {
  const { rows } = await store.database.calm.query<{ enqueues: number }>(
    "select enqueues from activities where id = $1",
    [job.activityId],
  );
  return rows[0]?.enqueues ?? 0;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it("an unreadable run prevents neither the deadlines of other runs nor the removal of killed workers", async () => {
  const request = { definition: definition({ main: onePrompt }), caps: { timeMs: 1 } };
  const bad = await createRun(store, request);
  const good = await createRun(store, request);
  await store.database.calm.query("update runs set program = 'gone' where id = $1", [bad.runId]);
  await beat(store.database, { id: "dead", host: "h", info: {} });
  await store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 minute'");
  supervise();
  await expect.poll(async () => (await getRun(store.database, good.runId))?.status).toBe("failed");
  await expect.poll(() => listWorkers(store.database)).toEqual([]);
  expect(logged).toContainEqual({
    fields: expect.objectContaining({ run: bad.runId, err: expect.objectContaining({ code: "STORE_NOT_FOUND" }) }),
    message: "a run cannot be processed",
  });
});

it("a batch notification after an idle time starts a pass at once, and notifications during a pass share the next one", async () => {
  const { hot } = store.database;
  const query = hot.query.bind(hot) as (...given: unknown[]) => unknown;
  let looks = 0;
  let held: Promise<void> = Promise.resolve();
  vi.spyOn(hot, "query").mockImplementation((async (...given: unknown[]) => {
    if (Object(given[0]).name !== "active-batches") return query(...given);
    looks += 1;
    await held;
    return query(...given);
  }) as never);
  const tell = (count: number) =>
    store.database.calm.query("select pg_notify('markmill_batches', n::text) from generate_series(1, $1::integer) n", [
      count,
    ]);
  // Without a notification the next pass would start after an hour.
  supervise({ admitIdleMs: 3_600_000 });
  // After its first pass the supervisor listens.
  await expect.poll(() => looks).toBe(2);
  const gate = Promise.withResolvers<void>();
  held = gate.promise;
  await tell(1);
  await expect.poll(() => looks).toBe(3);
  // Notifications during a pass. They arrive in a few packets.
  await tell(300);
  await pause(200);
  gate.resolve();
  await expect.poll(() => looks).toBeGreaterThan(3);
  await pause(500);
  expect(looks).toBeLessThan(3 + 300 / 10);
  // Later notifications start a pass too.
  const before = looks;
  await tell(1);
  await expect.poll(() => looks).toBeGreaterThan(before);
});

it("jobs that the queue refuses are not reported as enqueued again", async () => {
  const enqueue = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
  let full = true;
  supervise({ queues: { ...queues, enqueue: async (specs) => (full ? specs : await queues.enqueue(specs)) } });
  await expect.poll(() => jobsOf(enqueue)).toBeGreaterThan(2);
  const told = () => logged.filter(({ message }) => message.startsWith("enqueued lost jobs"));
  expect(told()).toEqual([]);
  full = false;
  await expect.poll(told).toEqual([{ fields: { count: 1 }, message: "enqueued lost jobs again" }]);
});

describe.skipIf(!withRedis)("while Redis is down", () => {
  it("killed workers are removed", async () => {
    const server = await freshRedis();
    const away = await openQueues({ backend: { kind: "redis", url: server.url } });
    await createRun(store, { definition: definition({ main: onePrompt }) });
    await store.database.calm.query("update activities set enqueued_at = enqueued_at - interval '1 minute'");
    await beat(store.database, { id: "dead", host: "h", info: {} });
    await store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 minute'");
    await server.kill();
    supervise({ queues: away });
    await expect.poll(() => listWorkers(store.database)).toEqual([]);
    expect(logged).toContainEqual({
      fields: expect.objectContaining({ duty: "lost enqueues" }),
      message: "a supervisor task failed",
    });
    await supervisor?.stop();
    await away.close();
    await server.stop();
  });
});

describe("a job of a worker whose lease has expired", () => {
  async function halfDead(leaseOver: string): Promise<JobSpec> {
    const enqueue = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
    const { promise: taken, resolve } = Promise.withResolvers<void>();
    serving = queues.serve("prompt", async () => {
      resolve();
      await released;
      return { do: "done" };
    });
    await queues.enqueue([enqueue]);
    await taken;
    await claimed(store, enqueue);
    await store.database.calm.query(
      `update activities set lease_until = clock_timestamp() - $1::interval, enqueued_at = clock_timestamp() - interval '1 minute'`,
      [leaseOver],
    );
    return enqueue;
  }

  it("is enqueued again if the lease expired long ago, once while the new job waits", async () => {
    const enqueue = await halfDead("1 minute");
    supervise({ halfDeadMs: 4_000 });
    await pause(600);
    // Postgres has not answered for long enough yet. Its outage may be the reason why the lease expired.
    expect(await jobsOf(enqueue)).toBe(1);
    await expect.poll(() => jobsOf(enqueue)).toBe(2);
    await pause(1_000);
    expect(await jobsOf(enqueue)).toBe(2);
  });

  it("stays with the worker if the lease has just expired", async () => {
    const enqueue = await halfDead("1 second");
    supervise({ halfDeadMs: 60_000 });
    await pause(1_000);
    expect(await jobsOf(enqueue)).toBe(1);
  });
});

describe("a delayed job of a due activity", () => {
  it("is enqueued again if the delay is long, as after a clock error", async () => {
    const enqueue = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
    await queues.enqueue([{ ...enqueue, delayMs: 3_600_000 }]);
    supervise();
    await expect.poll(() => jobsOf(enqueue)).toBe(2);
    await expect
      .poll(() => queues.live([{ ...enqueue, enqueues: 2 }]))
      .toEqual(new Map([[expect.any(String), { is: "waiting" }]]));
  });

  it("is left alone if its handler requested a short delay", async () => {
    const enqueue = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
    queues.serve("prompt", async () => ({ do: "later", ms: 1_000 }));
    await queues.enqueue([enqueue]);
    supervise();
    await pause(2_500);
    expect(await jobsOf(enqueue)).toBe(1);
  });
});
