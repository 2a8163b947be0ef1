/** Budgets and endpoints without limits: calls do not wait for each other, and a limit that is set later applies from then on. */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { writeBudgetCap } from "../../packages/store/src/money/budgets.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  type Budget,
  type CallRef,
  type Database,
  defaultTenant,
  gatherSpendings,
  getBudget,
  openBudget,
  openStore,
  pauseRate,
  releaseReservation,
  reserve,
  type Store,
  saveCall,
  settleAbandoned,
  settleReservation,
  takeRate,
} from "../support/store.ts";

let database: TestDatabase;
let store: Store;
let caps: { set(id: string, nanodollars: number | null): Promise<void> };
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one" });
  caps = { set: (id, nanodollars) => store.as(defaultTenant).budgets.setCap(id, { nanodollars, tokens: null }) };
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

const none = { nanodollars: null, tokens: null };
const want = { nanodollars: 60, tokens: 6 };
const cost = { nanodollars: 40, tokens: 5 };
let activity = 0;
let id = "";
beforeEach(async () => {
  activity += 100;
  id = `budget-${activity}`;
  await openBudget(store.database, id, none);
});
const call = (number = 0): CallRef => ({ activityId: activity + number, callIndex: 0, claim: 1 });
const total = async (): Promise<Pick<Budget, "spent" | "reserved">> => {
  const { spent, reserved } = (await getBudget(store.database, id)) ?? {};
  return { spent: spent ?? cost, reserved: reserved ?? cost };
};
const nothing = { nanodollars: 0, tokens: 0 };
const row = async () => {
  const { rows } = await store.database.calm.query("select *, xmin from budgets where id = $1", [id]);
  return rows[0];
};
const reply = (of: CallRef, by = store.database) =>
  saveCall(
    by,
    { id: "r", rootId: "r", tenant: defaultTenant },
    {
      key: { ...of, requestHash: "h" },
      model: "m",
      request: null,
      reply: {},
      usage: { promptTokens: 3, completionTokens: 2, characters: 9, nanodollars: cost.nanodollars },
    },
  );

/** A transaction that pauses between two statements, and through which the store sends its own statements. */
async function standing(act: (by: Database, client: pg.Client) => Promise<unknown>): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url, options: "-c search_path=markmill,public" });
  await client.connect();
  await client.query("begin");
  const pool = client as unknown as pg.Pool;
  await act({ ...store.database, hot: pool, calm: pool }, client);
  return async () => {
    await client.query("commit");
    await client.end();
  };
}

const waits = async (work: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void work.finally(() => {
    done = true;
  });
  for (let look = 0; look < 100 && !done; look++) {
    const { rows } = await store.database.calm.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (rows.length > 0) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
};

describe("a budget without a limit", () => {
  it("is not written by calls, which do not wait for each other's commits", async () => {
    const before = await row();
    const go = await standing(async (by) => {
      await reserve(by, call(1), [id], want);
      await reserve(by, call(2), [id], want);
      await reply(call(2), by);
    });
    expect(await reserve(store.database, call(3), [id], want)).toEqual({ kind: "reserved" });
    await reply(call(3));
    expect(await total()).toEqual({ spent: cost, reserved: nothing });
    await go();
    expect(await total()).toEqual({ spent: { nanodollars: 80, tokens: 10 }, reserved: want });
    const { xmax: _, ...after } = await row();
    expect(after).toEqual(before);
  });

  it("is different from one with a limit, where calls wait for each other", async () => {
    await caps.set(id, 1_000);
    const go = await standing((by) => reserve(by, call(1), [id], want));
    const other = reserve(store.database, call(2), [id], want);
    expect(await waits(other)).toBe(true);
    await go();
    await other;
    expect(await total()).toEqual({ spent: nothing, reserved: { nanodollars: 120, tokens: 12 } });
  });

  it("holds one reservation per call however often it is requested, and books or releases it once", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => reserve(store.database, call(), [id], want)));
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(["reserved"]));
    expect(await total()).toEqual({ spent: nothing, reserved: want });
    await reply(call());
    await reply(call());
    await settleReservation(store.database, call(), cost);
    expect(await total()).toEqual({ spent: cost, reserved: nothing });
    await reserve(store.database, call(1), [id], want);
    await releaseReservation(store.database, call(1));
    expect(await total()).toEqual({ spent: cost, reserved: nothing });
  });

  it("books the reservations of a lost worker as spent, by the next holder or the supervisor", async () => {
    await reserve(store.database, call(1), [id], want);
    await settleReservation(store.database, { ...call(1), claim: 2 }, "reserved");
    expect(await total()).toEqual({ spent: want, reserved: nothing });
    await reserve(store.database, call(2), [id], want);
    await store.database.calm.query(
      "update reservations set created_at = created_at - interval '2 minutes' where budget_id = $1",
      [id],
    );
    expect(await settleAbandoned(store.database, 60_000)).toBe(1);
    expect(await total()).toEqual({ spent: { nanodollars: 120, tokens: 12 }, reserved: nothing });
  });

  it("collects its costs into its row once, while calls continue, and costs of a deleted budget are deleted", async () => {
    for (const number of [1, 2, 3]) {
      await reserve(store.database, call(number), [id], want);
      await reply(call(number));
    }
    const open = await standing((by) => reserve(by, call(4), [id], want));
    await Promise.all([gatherSpendings(store.database), gatherSpendings(store.database)]);
    await open();
    expect(await row()).toMatchObject({ spent_nanodollars: 120, spent_tokens: 15, reserved_nanodollars: 0 });
    expect(await total()).toEqual({ spent: { nanodollars: 120, tokens: 15 }, reserved: want });
    await store.database.calm.query("delete from budgets where id = $1", [id]);
    await reply(call(4));
    await gatherSpendings(store.database);
    expect((await store.database.calm.query("select 1 from spendings")).rows).toEqual([]);
  });
});

describe("a limit that is set later", () => {
  it("counts spent and reserved costs once, and books open calls from then on", async () => {
    for (const number of [1, 2, 3, 4]) await reserve(store.database, call(number), [id], want);
    await reply(call(1));
    await caps.set(id, 250);
    expect(await row()).toMatchObject({ spent_nanodollars: 40, reserved_nanodollars: 180 });
    expect(await reserve(store.database, call(5), [id], want)).toMatchObject({
      kind: "refused",
      code: "LIMIT_COST",
      budget: { spent: cost, reserved: { nanodollars: 180, tokens: 18 } },
    });
    await reply(call(2));
    await releaseReservation(store.database, call(3));
    await settleReservation(store.database, { ...call(4), claim: 2 }, "reserved");
    expect(await total()).toEqual({ spent: { nanodollars: 140, tokens: 16 }, reserved: nothing });
    expect(await reserve(store.database, call(5), [id], want)).toEqual({ kind: "reserved" });
    expect(await reserve(store.database, call(6), [id], want)).toMatchObject({ kind: "refused" });
  });

  it("waits for a call that is reserving, and counts it", async () => {
    const go = await standing((by) => reserve(by, call(1), [id], want));
    const set = caps.set(id, 100);
    expect(await waits(set)).toBe(true);
    await go();
    await set;
    expect(await total()).toEqual({ spent: nothing, reserved: want });
    expect(await reserve(store.database, call(2), [id], want)).toMatchObject({ kind: "refused" });
  });

  it("applies to a call that arrived while it was being set", async () => {
    const go = await standing((_, client) =>
      writeBudgetCap(client, defaultTenant, id, { nanodollars: 50, tokens: null }),
    );
    const late = reserve(store.database, call(1), [id], want);
    expect(await waits(late)).toBe(true);
    await go();
    expect(await late).toMatchObject({ kind: "refused", budget: { cap: { nanodollars: 50 } } });
    expect(await total()).toEqual({ spent: nothing, reserved: nothing });
  });

  it("waits for a reply that is being stored, and counts its cost", async () => {
    await reserve(store.database, call(1), [id], want);
    const go = await standing((by) => reply(call(1), by));
    const set = caps.set(id, 100);
    expect(await waits(set)).toBe(true);
    await go();
    await set;
    expect(await row()).toMatchObject({ spent_nanodollars: 40, reserved_nanodollars: 0 });
    expect(await total()).toEqual({ spent: cost, reserved: nothing });
  });

  it("takes over a reservation whose reply arrived while it was being set", async () => {
    await reserve(store.database, call(1), [id], want);
    const go = await standing((_, client) =>
      writeBudgetCap(client, defaultTenant, id, { nanodollars: 90, tokens: null }),
    );
    const late = reply(call(1));
    expect(await waits(late)).toBe(true);
    await go();
    await late;
    expect(await row()).toMatchObject({ spent_nanodollars: 40, reserved_nanodollars: 0 });
    expect(await total()).toEqual({ spent: cost, reserved: nothing });
  });

  it("loses and doubles nothing when it is removed and set again", async () => {
    await reserve(store.database, call(1), [id], want);
    await caps.set(id, 1_000);
    await reserve(store.database, call(2), [id], want);
    await caps.set(id, null);
    await reserve(store.database, call(3), [id], want);
    await reply(call(1));
    await reply(call(3));
    expect(await total()).toEqual({ spent: { nanodollars: 80, tokens: 10 }, reserved: want });
    await caps.set(id, 1_000);
    await reply(call(2));
    expect(await total()).toEqual({ spent: { nanodollars: 120, tokens: 15 }, reserved: nothing });
  });

  it("does not exist, and counts nothing, if its transaction ends in kill -9", async () => {
    await reserve(store.database, call(1), [id], want);
    const client = new pg.Client({ connectionString: database.url, options: "-c search_path=markmill,public" });
    client.on("error", () => undefined);
    await client.connect();
    await client.query("begin");
    await writeBudgetCap(client, defaultTenant, id, { nanodollars: 10, tokens: null });
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await store.database.calm.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
    expect(await reserve(store.database, call(2), [id], want)).toEqual({ kind: "reserved" });
    expect(await total()).toEqual({ spent: nothing, reserved: { nanodollars: 120, tokens: 12 } });
    await client.end().catch(() => undefined);
  });

  it("applies beside a limit of the run, whichever is set or removed during hundreds of calls", async () => {
    const own = `run-${id}`;
    await openBudget(store.database, own, { nanodollars: 1_000_000, tokens: null }, "run");
    const stores = await Promise.all(Array.from({ length: 3 }, () => openStore({ url: database.url, migrate: false })));
    let over = false;
    let paid = 0;
    let refused = 0;
    let calls = 0;
    const caller = async ({ database: by }: Pick<Store, "database">) => {
      for (let n = 0; n < 40; n++) {
        const one: CallRef = { activityId: 1_000_000 + calls++, callIndex: 0, claim: 1 };
        const reserved = await reserve(by, one, [own, id], want);
        if (reserved.kind === "refused") refused += 1;
        else if (n % 7 === 0) await releaseReservation(by, one);
        else {
          await reply(one, by);
          paid += 1;
        }
      }
    };
    // After a limit is set, the used amount never exceeds it, or the amount that was used at that moment.
    const setter = async () => {
      while (!over) {
        const used = ({ spent, reserved }: Pick<Budget, "spent" | "reserved">) =>
          spent.nanodollars + reserved.nanodollars;
        const cap = (await total()).spent.nanodollars + 500;
        await caps.set(id, cap);
        const most = Math.max(cap, used(await total()));
        for (let look = 0; look < 3; look++) expect(used(await total())).toBeLessThanOrEqual(most);
        await caps.set(id, null);
        await gatherSpendings(store.database);
      }
    };
    const setting = setter();
    await Promise.all(stores.flatMap((one) => [caller(one), caller(one), caller(one)])).finally(() => {
      over = true;
    });
    await setting;
    expect(paid).toBeGreaterThan(100);
    expect(await total()).toEqual({ spent: { nanodollars: 40 * paid, tokens: 5 * paid }, reserved: nothing });
    expect(await getBudget(store.database, own)).toMatchObject({
      spent: { nanodollars: 40 * paid },
      reserved: { nanodollars: 0 },
    });
    expect(refused).toBeGreaterThan(0);
    await Promise.all(stores.map((one) => one.close()));
  });
});

describe("an endpoint without limits", () => {
  const free = { requestsPerMinute: null, tokensPerMinute: null };
  const at = { tenant: defaultTenant, endpoint: "http://models.test/v1", model: "free" };
  const take = (taker: string) => takeRate(store.database, at, free, 100, taker);

  it("is called without a write, while other endpoints' rows are written, until it is paused", async () => {
    expect(await take("a")).toEqual({ kind: "granted", waitMs: 0, probe: false });
    expect((await store.database.calm.query("select 1 from rates where model = 'free'")).rows).toEqual([]);
    await takeRate(store.database, at, { requestsPerMinute: 600, tokensPerMinute: null }, 1, "limited");
    const go = await standing((by) =>
      takeRate(by, at, { requestsPerMinute: 600, tokensPerMinute: null }, 1, "limited"),
    );
    expect(await take("b")).toEqual({ kind: "granted", waitMs: 0, probe: false });
    await go();
    await pauseRate(store.database, at, { wishMs: 60_000, reason: "429", prober: null, mostMs: 60_000 });
    expect(await take("c")).toMatchObject({ kind: "paused", reason: "429" });
  });
});
