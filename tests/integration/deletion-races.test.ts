/** Races with the deletion of a run: nothing is left behind, and no missing row is reported. */

import type { PoolClient } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  cancelRun,
  createRun,
  defaultTenant,
  enforceDeadlines,
  expireAsks,
  oldestDue,
  openStore,
  type Store,
  saveCall,
} from "../support/store.ts";
import { until } from "../support/until.ts";
import { claimed, definition, oneAsk, onePrompt, only } from "./store-programs.ts";

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

async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, [...values])).rows;
}

/** A run with a cost limit that was cancelled in the middle of its prompt. */
async function endedRun() {
  const capped = { ...onePrompt, limits: { ...onePrompt.limits, nanodollars: 1_000_000 } };
  const { runId, jobs } = await createRun(store, { definition: definition({ main: capped }) });
  const { activity } = await claimed(store, only(jobs));
  await cancelRun(store, runId, "enough");
  return { runId, activity };
}

const usage = { promptTokens: 1, completionTokens: 1, characters: 2, nanodollars: 5 };
const save = (runId: string, activityId: number) =>
  saveCall(
    store.database,
    { id: runId, rootId: runId, tenant: defaultTenant },
    { key: { activityId, callIndex: 0, requestHash: "h", claim: 1 }, model: "m", request: null, reply: "late", usage },
  );

const remove = (runId: string) => store.as(defaultTenant).runs.delete(runId);

/** The number of rows that name the run, in every table with a column for it. */
async function leftOf(runId: string): Promise<number> {
  const columns = await query<{ name: string; column: string }>(
    `select table_name as name, column_name as column from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'markmill' and table_type = 'BASE TABLE' and column_name in ('run_id', 'root_id', 'budget_id')`,
  );
  const counts = columns.map(({ name, column }) => `select count(*) as n from ${name} where ${column} = $1`);
  const [sum] = await query<{ n: number }>(
    `select sum(n)::integer as n from (${counts.join(" union all ")} union all select count(*) from runs where id = $1
     union all select count(*) from budgets where id = $1) c`,
    [runId],
  );
  return sum?.n ?? -1;
}

/** An open transaction of another process. */
async function holding<Result>(act: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await store.database.calm.connect();
  try {
    await client.query("begin");
    return await act(client);
  } finally {
    client.release(true);
  }
}

async function waitsForLock(like: string): Promise<void> {
  await until(async () => {
    const rows = await query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
      [like],
    );
    return rows.length > 0;
  });
}

it("a fork of a run that is being deleted is refused, and leaves no run, key or budget", async () => {
  const { runId } = await endedRun();
  const before = await query<{ id: string }>("select id from runs");
  const budgets = await query("select id from budgets order by id");
  await holding(async (client) => {
    // The fork has read the run and waits for this key.
    await client.query("insert into idempotency_keys (tenant, key, run_id) values ($1, 'slow', 'other')", [
      defaultTenant,
    ]);
    const key = { text: "slow", requestHash: "r" };
    const forking = store.as(defaultTenant).runs.fork({ of: runId, from: ["say"], key });
    const outcome = forking.then(
      ({ runId: made }) => made,
      (error: unknown) => error,
    );
    await waitsForLock("insert into idempotency_keys%");
    expect(await remove(runId)).toBe(true);
    await client.query("rollback");
    expect(await outcome).toMatchObject({ code: "STORE_NOT_FOUND" });
  });
  expect(await query("select id from runs")).toEqual(before.filter(({ id }) => id !== runId));
  expect(await query("select 1 from idempotency_keys where key = 'slow'")).toEqual([]);
  expect(await query("select id from budgets where id <> $1 order by id", [runId])).toEqual(
    budgets.filter((budget) => (budget as { id: string }).id !== runId),
  );
  expect(await leftOf(runId)).toBe(0);
});

it("a reply that arrives after its run was deleted is not stored", async () => {
  const { runId, activity } = await endedRun();
  expect(await remove(runId)).toBe(true);
  expect(await leftOf(runId)).toBe(0);
  await save(runId, activity.id);
  expect(await leftOf(runId)).toBe(0);
});

it("a reply that is stored while its run is deleted is deleted with it, in either order", async () => {
  const first = await endedRun();
  await holding(async (client) => {
    // This deletion has started.
    await client.query("select 1 from runs where id = $1 for update", [first.runId]);
    const saving = save(first.runId, first.activity.id);
    await waitsForLock("%insert into calls%");
    await client.query("delete from runs where id = $1", [first.runId]);
    await client.query("commit");
    await saving;
  });
  await query("delete from activities where run_id = $1", [first.runId]);
  expect(await query("select 1 from calls where run_id = $1", [first.runId])).toEqual([]);
  expect(await query("select 1 from charges where run_id = $1", [first.runId])).toEqual([]);

  const second = await endedRun();
  await holding(async (client) => {
    // This reply is being stored.
    await client.query("select 1 from runs where id = $1 for key share", [second.runId]);
    await client.query(
      `insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply, prompt_tokens,
         completion_tokens, characters, nanodollars) values ($1, 0, 'h', $2, $2, 'm', 'null', 'null', 1, 1, 1, 1)`,
      [second.activity.id, second.runId],
    );
    const deleting = remove(second.runId);
    await waitsForLock("%for update");
    await client.query("commit");
    expect(await deleting).toBe(true);
  });
  expect(await leftOf(second.runId)).toBe(0);
});

it("a request of a deleted run is not sent: its reservation is refused and leaves nothing", async () => {
  const { runId, activity } = await endedRun();
  expect(await remove(runId)).toBe(true);
  const reserving = store.reserve({
    tenant: defaultTenant,
    call: { activityId: activity.id, callIndex: 0, claim: 1 },
    budgets: [],
    want: { nanodollars: 1, tokens: 1 },
    leave: { nanodollars: 0, tokens: 0 },
    charge: { runId, rootId: runId, model: "m", promptTokens: 1, completionTokens: 1, characters: 1 },
  });
  await expect(reserving).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
  expect(await leftOf(runId)).toBe(0);
});

it("a missing budget refuses the calls of a run that pays from it", async () => {
  const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }), budgets: ["gone"] });
  const { activity } = await claimed(store, only(jobs));
  const want = { nanodollars: 1, tokens: 1 };
  const reserve = (callIndex: number) =>
    store.reserve({
      tenant: defaultTenant,
      call: { activityId: activity.id, callIndex, claim: 1 },
      budgets: ["gone"],
      want,
      leave: { nanodollars: 0, tokens: 0 },
      charge: { runId, rootId: runId, model: "m", promptTokens: 1, completionTokens: 1, characters: 1 },
    });
  expect(await Promise.all([reserve(0), reserve(1)])).toEqual(Array(2).fill({ kind: "missing", budget: "gone" }));
  expect(await query("select 1 from charges where run_id = $1", [runId])).toEqual([]);
  await store.as(defaultTenant).budgets.open("gone", { nanodollars: null, tokens: null });
  expect(await reserve(2)).toEqual({ kind: "reserved" });
});

it("activities of ended or deleted runs are never due", async () => {
  const prompt = await createRun(store, { definition: definition({ main: onePrompt }) });
  const ask = await createRun(store, { definition: definition({ main: oneAsk }) });
  await query("update activities set created_at = clock_timestamp() - interval '1 hour' where run_id = $1", [
    prompt.runId,
  ]);
  await query("update asks set expires_at = clock_timestamp() - interval '1 hour' where run_id = $1", [ask.runId]);
  expect(await oldestDue(store.database, ["prompt"])).toBeGreaterThan(1_000_000);
  await query("delete from runs where id = any($1)", [[prompt.runId, ask.runId]]);
  expect(await oldestDue(store.database, ["prompt"])).toBe(0);
  const skipped: unknown[] = [];
  const tell = (_: unknown, about: unknown) => void skipped.push(about);
  expect([...(await expireAsks(store, tell)), ...(await enforceDeadlines(store, tell))]).toEqual([]);
  expect(skipped).toEqual([]);
});
