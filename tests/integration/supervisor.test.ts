// The supervisor on a real store and a real queue, without workers: every state it has to find is made by hand.

import type { Doorbell } from "@markmill/engine";
import { openQueues, type Queues, type Serving } from "@markmill/queue";
import { type RunningSupervisor, type SupervisorParts, startSupervisor } from "@markmill/supervisor";
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
/** What holds a job and does not let it go. */
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

async function ringsOf(ring: Doorbell): Promise<number> {
  const { rows } = await store.database.calm.query<{ rings: number }>("select rings from activities where id = $1", [
    ring.activityId,
  ]);
  return rows[0]?.rings ?? 0;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it("one run that cannot be read does not keep the others from their deadlines, nor dead workers from being buried", async () => {
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

it("what is heard of batches after a quiet time is looked at at once, and what is heard during a look together", async () => {
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
  // By itself it would look after an hour.
  supervise({ admitIdleMs: 3_600_000 });
  // The first look, and the one after it listens.
  await expect.poll(() => looks).toBe(2);
  const gate = Promise.withResolvers<void>();
  held = gate.promise;
  await tell(1);
  await expect.poll(() => looks).toBe(3);
  // Heard while it looks. They come in a few packets.
  await tell(300);
  await pause(200);
  gate.resolve();
  await expect.poll(() => looks).toBeGreaterThan(3);
  await pause(500);
  expect(looks).toBeLessThan(3 + 300 / 10);
  // Nothing that is heard later is missed.
  const before = looks;
  await tell(1);
  await expect.poll(() => looks).toBeGreaterThan(before);
});

it("a job that the queue refuses is not reported as enqueued again", async () => {
  const ring = only((await createRun(store, { definition: definition({ main: onePrompt }) })).rings);
  let full = true;
  supervise({ queues: { ...queues, ring: async (bells) => (full ? bells : await queues.ring(bells)) } });
  await expect.poll(() => ringsOf(ring)).toBeGreaterThan(2);
  const told = () => logged.filter(({ message }) => message.startsWith("enqueued lost jobs"));
  expect(told()).toEqual([]);
  full = false;
  await expect.poll(told).toEqual([{ fields: { count: 1 }, message: "enqueued lost jobs again" }]);
});

describe.skipIf(!withRedis)("while Redis is down", () => {
  it("dead workers are buried all the same", async () => {
    const server = await freshRedis();
    const away = await openQueues({ backend: { kind: "redis", url: server.url } });
    await createRun(store, { definition: definition({ main: onePrompt }) });
    await store.database.calm.query("update activities set rung_at = rung_at - interval '1 minute'");
    await beat(store.database, { id: "dead", host: "h", info: {} });
    await store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 minute'");
    await server.kill();
    supervise({ queues: away });
    await expect.poll(() => listWorkers(store.database)).toEqual([]);
    expect(logged).toContainEqual({
      fields: expect.objectContaining({ duty: "lost rings" }),
      message: "a supervisor task failed",
    });
    await supervisor?.stop();
    await away.close();
    await server.stop();
  });
});

describe("a job in the hands of a worker whose lease is over", () => {
  async function halfDead(leaseOver: string): Promise<Doorbell> {
    const ring = only((await createRun(store, { definition: definition({ main: onePrompt }) })).rings);
    const { promise: taken, resolve } = Promise.withResolvers<void>();
    serving = queues.serve("prompt", async () => {
      resolve();
      await released;
      return { do: "done" };
    });
    await queues.ring([ring]);
    await taken;
    await claimed(store, ring);
    await store.database.calm.query(
      `update activities set lease_until = clock_timestamp() - $1::interval, rung_at = clock_timestamp() - interval '1 minute'`,
      [leaseOver],
    );
    return ring;
  }

  it("is rung again when it has been over for long, once while the new ring waits", async () => {
    const ring = await halfDead("1 minute");
    supervise({ halfDeadMs: 4_000 });
    await pause(600);
    // Postgres has not answered for long enough yet: its absence may be why the lease is over.
    expect(await ringsOf(ring)).toBe(1);
    await expect.poll(() => ringsOf(ring)).toBe(2);
    await pause(1_000);
    expect(await ringsOf(ring)).toBe(2);
  });

  it("is left to it when it has just ended", async () => {
    const ring = await halfDead("1 second");
    supervise({ halfDeadMs: 60_000 });
    await pause(1_000);
    expect(await ringsOf(ring)).toBe(1);
  });
});

describe("a job that the queue puts off", () => {
  it("for long though its activity is due, by a clock that is ahead, is rung again", async () => {
    const ring = only((await createRun(store, { definition: definition({ main: onePrompt }) })).rings);
    await queues.ring([{ ...ring, delayMs: 3_600_000 }]);
    supervise();
    await expect.poll(() => ringsOf(ring)).toBe(2);
    await expect
      .poll(() => queues.live([{ ...ring, rings: 2 }]))
      .toEqual(new Map([[expect.any(String), { is: "waiting" }]]));
  });

  it("for a moment, because its handler wants it later, is left alone", async () => {
    const ring = only((await createRun(store, { definition: definition({ main: onePrompt }) })).rings);
    queues.serve("prompt", async () => ({ do: "later", ms: 1_000 }));
    await queues.ring([ring]);
    supervise();
    await pause(2_500);
    expect(await ringsOf(ring)).toBe(1);
  });
});
