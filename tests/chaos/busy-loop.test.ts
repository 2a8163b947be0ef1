/**
 * A worker whose event loop is blocked for longer than a lease keeps its activities, because a thread renews the leases. No other worker
 * takes them over, and nothing is paid twice. A loop that stays blocked loses its activities in the end.
 */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { claimed, definition, onePrompt, only } from "../integration/store-programs.ts";
import { type Backend, type Mill, startMill, workflow } from "../support/mill.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { redisAvailable } from "../support/redis.ts";
import {
  createLeaseKeeper,
  createRun,
  type LeaseKeeper,
  openStore,
  renewLeases,
  type Store,
} from "../support/store.ts";

const script = `
rules:
  - { when: { pattern: "." }, reply: "paid once", delay: 3s }
`;
const files = { "a.md": workflow("START --> PROMPT_A[Prompt: User A]", { "User A": "say it" }) };
// The leases are in the store and independent of the queue, so one backend is enough.
const redis: readonly Backend[] = (await redisAvailable("a busy event loop on Redis")) ? ["redis"] : [];
const backends: readonly Backend[] = inject("thorough") || redis.length === 0 ? [...redis, "postgres"] : redis;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(backends)(
  "a prompt held by a worker whose event loop is blocked for 8 s, on the %s backend",
  (backend) => {
    let mill: Mill;
    beforeAll(async () => {
      mill = await startMill({ backend, script, worker: false });
    });
    afterAll(() => mill.close());

    it("is not taken over, and each call is paid once", async () => {
      const busy = await mill.spawnWorker({ blockAt: { kind: "prompt", afterMs: 500, ms: 8_000 } });
      const blocked = new Promise((resolve) =>
        busy.process.on("message", (message) => message === "blocked" && resolve(0)),
      );
      const runId = await mill.start(files);
      await blocked;
      // From here on another worker would claim it.
      const rest = await mill.work();
      const run = await mill.ended(runId);
      await rest();
      expect(run).toMatchObject({ status: "success", result: "paid once", spent: { calls: 1 } });
      expect(mill.requests()).toHaveLength(1);
      const { rows } = await mill.store.database.calm.query(
        "select takeovers, claim, claimed_by = $2 as mine from activities where run_id = $1",
        [runId, `child-${busy.process.pid}`],
      );
      expect(rows).toEqual([{ takeovers: 0, claim: 1, mine: true }]);
    });
  },
);

describe("the lease thread", () => {
  let database: TestDatabase;
  let store: Store;
  let keeper: LeaseKeeper | null;
  const leaseMs = 3_000;
  beforeEach(async () => {
    database = await migratedDatabase();
    store = await openStore({ url: database.url, worker: "one", leaseMs });
    keeper = null;
  });
  afterEach(async () => {
    await keeper?.close();
    await store.close();
    await database.drop();
  });

  async function held() {
    const enqueue = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
    const claim = await claimed(store, enqueue);
    let lost = 0;
    keeper = createLeaseKeeper({ database: store.database, leaseMs, worker: "one", onError: () => undefined });
    keeper.hold(claim.activity.id, claim.activity.claim, () => {
      lost += 1;
    });
    await expect.poll(() => connections()).toBe(1);
    return { enqueue, claim, lost: () => lost };
  }

  async function connections(act = "pid"): Promise<number> {
    const { rows } = await store.database.calm.query<{ count: number }>(
      `select count(${act})::integer as count from pg_stat_activity where application_name = 'markmill leases' and datname = current_database()`,
    );
    return rows[0]?.count ?? 0;
  }

  async function leaseUntil(id: number | null = null): Promise<number> {
    const { rows } = await store.database.calm.query<{ ms: number }>(
      "select extract(epoch from lease_until)::float8 * 1000 as ms from activities where id = coalesce($1, id)",
      [id],
    );
    return rows[0]?.ms ?? Number.NaN;
  }

  async function isOver(): Promise<boolean> {
    const { rows } = await store.database.calm.query("select 1 from activities where lease_until > clock_timestamp()");
    return rows.length === 0;
  }

  it("renews leases while the event loop of its worker is blocked", async () => {
    const { calm } = store.database;
    // The order of events: renewals, and the blocked time between them.
    await calm.query("create table happened (id serial, what text)");
    await calm.query(`create function note_renewal() returns trigger language plpgsql as
      'begin insert into happened (what) values (''renewed''); return new; end'`);
    await calm.query(
      "create trigger noted after update of lease_until on activities for each row execute function note_renewal()",
    );
    await held();
    await calm.query("insert into happened (what) values ('stopped')");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2.5 * leaseMs);
    await calm.query("insert into happened (what) values ('went on')");
    const { rows } = await calm.query<{ what: string }>("select what from happened order by id");
    const order = rows.map(({ what }) => what);
    const between = order.slice(order.indexOf("stopped") + 1, order.indexOf("went on"));
    // One renewal may have been sent just before, and one may have arrived just after.
    expect(between.length).toBeGreaterThan(2);
    expect(keeper?.renewedMsAgo()).toBeGreaterThanOrEqual(0);
  });

  it("reports lost leases after another worker has claimed them", async () => {
    const { claim, lost } = await held();
    await pause(1_000);
    expect(lost()).toBe(0);
    await store.database.calm.query("update activities set claim = claim + 1 where id = $1", [claim.activity.id]);
    await expect.poll(lost).toBeGreaterThan(0);
  });

  it("does not wait for locked rows: it keeps their leases, blocks nothing, and renews when they are free", async () => {
    const { claim, lost } = await held();
    const other = await claimed(
      store,
      only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs),
    );
    const both = [claim.activity, other.activity];
    const { calm } = store.database;
    const commit = await calm.connect();
    try {
      await commit.query("begin");
      await commit.query("update activities set ready_at = ready_at where id = $1", [claim.activity.id]);
      const kept = await renewLeases(store.database, both.toReversed(), leaseMs);
      expect(kept).toEqual(
        new Map([
          [claim.activity.id, "locked"],
          [other.activity.id, "renewed"],
        ]),
      );
      // This is the opposite order of the renewal. A renewal that waited would cause a deadlock.
      await commit.query("update activities set ready_at = ready_at where id = $1", [other.activity.id]);
      keeper?.renewNow();
      await pause(1_500);
      expect(lost()).toBe(0);
    } finally {
      await commit.query("commit");
      commit.release();
    }
    const was = await leaseUntil(claim.activity.id);
    await expect.poll(() => leaseUntil(claim.activity.id)).toBeGreaterThan(was);
    expect(lost()).toBe(0);
    await calm.query("update activities set claim = claim + 1");
    expect(await renewLeases(store.database, both, leaseMs)).toEqual(new Map());
  });

  it("continues after its connection broke, and does not renew released leases", async () => {
    const { claim } = await held();
    expect(await connections("pg_terminate_backend(pid)")).toBe(1);
    await expect.poll(() => connections()).toBe(1);
    const was = await leaseUntil();
    await expect.poll(() => leaseUntil()).toBeGreaterThan(was);
    keeper?.drop(claim.activity.id);
    await expect.poll(isOver).toBe(true);
  });
});
