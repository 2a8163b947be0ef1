/** The costs of a deleted run stay in the usage report: once, without the run, its labels or its students. */

import type { TenantStore } from "@markmill/store";
import type { PoolClient } from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { killedAtStatement } from "../support/killed-transaction.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  addDeletedUsage,
  cancelRun,
  createRun,
  defaultTenant,
  deleteOldRuns,
  openStore,
  releaseReservation,
  type Store,
  saveCall,
  settleAbandoned,
  settleReservation,
} from "../support/store.ts";
import { until } from "../support/until.ts";
import { claimed, definition, onePrompt, only } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await migratedDatabase();
  store = await openStore({ url: database.url, worker: "one", leaseMs: 60_000 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
beforeEach(async () => {
  await query("truncate charges, reservations, deleted_usage");
});

async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, [...values])).rows;
}

type UsageBy = Parameters<TenantStore["usage"]["by"]>[0];
type UsageFilter = Parameters<TenantStore["usage"]["by"]>[1];

const flow = definition({ main: onePrompt });
const ours = () => store.as(defaultTenant);

/** A run that was cancelled during its prompt. */
async function endedRun() {
  const { runId, jobs } = await createRun(store, { definition: flow, labels: { student: "Ada" } });
  const { activity } = await claimed(store, only(jobs));
  await cancelRun(store, runId, "enough");
  return { runId, call: { activityId: activity.id, callIndex: 0, claim: 1 } };
}
type Ended = Awaited<ReturnType<typeof endedRun>>;

const worst = { nanodollars: 900, tokens: 50 };
const reserve = ({ runId, call }: Ended) =>
  store.reserve({
    tenant: defaultTenant,
    call,
    budgets: [],
    want: worst,
    leave: { nanodollars: 0, tokens: 0 },
    charge: { runId, rootId: runId, model: "m", promptTokens: 20, completionTokens: 30, characters: 4 },
  });
const usage = { promptTokens: 2, completionTokens: 3, characters: 4, nanodollars: 70 };
const reply = ({ runId, call }: Ended, model = "m") =>
  saveCall(
    store.database,
    { id: runId, rootId: runId, tenant: defaultTenant },
    { key: { ...call, requestHash: "h" }, model, request: null, reply: "late", usage },
  );
const remove = (runId: string) => ours().runs.delete(runId);

const usageBy = (by: UsageBy, filter?: UsageFilter) => ours().usage.by(by, filter);
const paidOnce = { calls: 1, ...usage, unsure: { calls: 0, tokens: 0, nanodollars: 0 } };
const unsureOnce = {
  calls: 1,
  promptTokens: 20,
  completionTokens: 30,
  characters: 4,
  nanodollars: 900,
  unsure: { calls: 1, tokens: 50, nanodollars: 900 },
};
/** Entries of the account that name a missing run, or wait to be added to a total. */
const linesLeft = () => query("select 1 from charges c where not exists (select 1 from runs r where r.id = c.root_id)");

async function holding<Result>(act: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await store.database.calm.connect();
  try {
    await client.query("begin");
    return await act(client);
  } finally {
    client.release(true);
  }
}

const waitsForLock = (like: string) =>
  until(
    async () => {
      const rows = await query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
        [like],
      );
      return rows.length > 0;
    },
    { limitMs: 10_000 },
  );

it("deleting runs changes no usage by day, model or definition, and leaves no run and no label", async () => {
  const runs = [await endedRun(), await endedRun(), await endedRun()];
  for (const [at, run] of runs.entries()) await reply(run, `m${at % 2}`);
  const figures = async (by: UsageBy, filter?: UsageFilter) =>
    (await usageBy(by, filter)).map(({ runs: _, ...line }) => line);
  const all = async () => [
    await figures({ kind: "day" }),
    await figures({ kind: "model" }),
    await figures({ kind: "definition" }),
    await figures({ kind: "day" }, { model: "m0", definitionHash: flow.hash }),
    await figures({ kind: "day" }, { from: new Date(0), before: new Date(Date.now() + 3_600_000) }),
    await figures({ kind: "day" }, { before: new Date(0) }),
  ];
  const before = await all();
  expect(before.map((lines) => lines.length)).toEqual([1, 2, 1, 1, 1, 0]);
  await remove(runs[0]?.runId ?? "");
  expect(await all()).toEqual(before);
  // The retention deletes the runs.
  expect(await deleteOldRuns(store.database, 0)).toBeGreaterThanOrEqual(2);
  expect(await all()).toEqual(before);
  expect(await usageBy({ kind: "run" })).toMatchObject([{ key: "", runs: 0, calls: 3, nanodollars: 210 }]);
  expect(await usageBy({ kind: "label", name: "student" })).toMatchObject([{ key: "", runs: 0, calls: 3 }]);
  expect(await usageBy({ kind: "day" }, { labels: { student: "Ada" } })).toEqual([]);
  expect(await usageBy({ kind: "day" }, { rootId: runs[0]?.runId ?? "" })).toEqual([]);
  expect(await store.as("other").usage.by({ kind: "day" })).toEqual([]);
  expect(await linesLeft()).toEqual([]);
});

it("a deletion that is killed at any statement neither loses nor doubles usage", async () => {
  for (let at = 1; ; at += 1) {
    let deaths = 0;
    for (const when of ["before", "after"] as const) {
      await query("truncate charges, deleted_usage");
      const run = await endedRun();
      await reply(run);
      const { died } = await killedAtStatement(store.database.hot, at, when, () => remove(run.runId));
      if (died) deaths += 1;
      expect(await usageBy({ kind: "model" })).toMatchObject([{ key: "m", ...paidOnce }]);
      await remove(run.runId);
      expect(await usageBy({ kind: "model" })).toMatchObject([{ key: "m", ...paidOnce }]);
      expect(await linesLeft()).toEqual([]);
    }
    if (deaths === 0) return expect(at).toBeGreaterThan(4);
  }
});

const ends: readonly {
  readonly how: string;
  readonly end: (run: Ended) => Promise<unknown>;
  readonly booked: object[];
}[] = [
  { how: "a late reply", end: (run) => reply(run), booked: [paidOnce] },
  { how: "a lost reply", end: ({ call }) => settleReservation(store.database, call, "reserved"), booked: [unsureOnce] },
  { how: "a request that never left", end: ({ call }) => releaseReservation(store.database, call), booked: [] },
  {
    how: "the death of its worker",
    end: async () => {
      await query("update charges set created_at = created_at - interval '2 minutes'");
      await settleAbandoned(store.database, 60_000);
    },
    booked: [unsureOnce],
  },
];

it.each(ends)("an open request whose run was deleted is booked once: $how", async ({ end, booked }) => {
  const run = await endedRun();
  expect(await reserve(run)).toEqual({ kind: "reserved" });
  expect(await usageBy({ kind: "model" })).toMatchObject([unsureOnce]);
  expect(await remove(run.runId)).toBe(true);
  expect(await usageBy({ kind: "model" })).toMatchObject([unsureOnce]);
  expect(await query("select 1 from charges where root_id = $1 or run_id = $1", [run.runId])).toEqual([]);
  await end(run);
  expect(await usageBy({ kind: "model" })).toMatchObject(booked);
  // This worker was slower than all others.
  await reply(run);
  expect(await usageBy({ kind: "model" })).toMatchObject(booked);
  await addDeletedUsage(store.database);
  expect(await addDeletedUsage(store.database)).toBe(0);
  expect(await usageBy({ kind: "model" })).toMatchObject(booked);
  expect(await query("select 1 from charges")).toEqual([]);
});

it("a reservation during a deletion is refused or counted, and leaves no open entry", async () => {
  const refused = await endedRun();
  await holding(async (client) => {
    await client.query("select 1 from runs where id = $1 for update", [refused.runId]);
    const reserving = reserve(refused).catch((error: unknown) => error);
    await waitsForLock("%json_to_recordset%");
    await client.query("delete from runs where id = $1", [refused.runId]);
    await client.query("commit");
    expect(await reserving).toMatchObject({ code: "STORE_NOT_FOUND" });
  });
  expect(await query("select 1 from charges")).toEqual([]);
  expect(await query("select 1 from reservations")).toEqual([]);

  const counted = await endedRun();
  await holding(async (client) => {
    // This reservation has not committed yet.
    await client.query("select 1 from runs where id = $1 for key share", [counted.runId]);
    await client.query(
      `insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state, prompt_tokens, completion_tokens,
         characters, nanodollars) values ($1, $2, 0, 1, $3, $3, 'm', 'open', 20, 30, 4, 900)`,
      [defaultTenant, counted.call.activityId, counted.runId],
    );
    const deleting = remove(counted.runId);
    await waitsForLock("%for update");
    await client.query("commit");
    expect(await deleting).toBe(true);
  });
  await reply(counted);
  await addDeletedUsage(store.database);
  expect(await query("select 1 from charges")).toEqual([]);
  expect(await usageBy({ kind: "model" })).toMatchObject([paidOnce]);
});

it("a request that ends during a deletion is booked once, in either order", async () => {
  // The failure is written while the deletion waits.
  const first = await endedRun();
  await reserve(first);
  await holding(async (client) => {
    await client.query("update charges set state = 'unsure' where run_id = $1", [first.runId]);
    const deleting = remove(first.runId);
    await waitsForLock("select 1 from charges%for update");
    await client.query("commit");
    expect(await deleting).toBe(true);
  });
  expect(await usageBy({ kind: "model" })).toMatchObject([unsureOnce]);
  expect(await query("select 1 from charges")).toEqual([]);

  // The deletion runs while the failure waits.
  await query("truncate charges, reservations, deleted_usage");
  const second = await endedRun();
  await reserve(second);
  await holding(async (client) => {
    await client.query("select 1 from runs where id = $1 for update", [second.runId]);
    await client.query("select 1 from charges where root_id = $1 for update", [second.runId]);
    await client.query("delete from runs where id = $1", [second.runId]);
    await client.query(
      "update charges set run_id = '', root_id = '', deleted_definition = 'd' where root_id = $1 and state = 'open'",
      [second.runId],
    );
    const ending = settleReservation(store.database, second.call, "reserved");
    await waitsForLock("%delete from reservations%");
    await client.query("commit");
    await ending;
  });
  expect(await usageBy({ kind: "model" })).toMatchObject([unsureOnce]);
  expect(await addDeletedUsage(store.database)).toBe(1);
  expect(await usageBy({ kind: "model" })).toMatchObject([unsureOnce]);
  expect(await query("select 1 from charges")).toEqual([]);
});
