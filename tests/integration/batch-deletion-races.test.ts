/**
 * A batch is deleted while its runs are created, and the deletion is killed between any two statements. A repeated deletion leaves no
 * row of the batch in any table.
 */
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { classOf, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { admit } from "../support/class-store.ts";
import { killedAtStatement } from "../support/killed-transaction.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  addDeletedUsage,
  cancelRun,
  deleteOrphans,
  gatherSpendings,
  openStore,
  type Store,
  saveCall,
  settleAbandoned,
  type TenantStore,
} from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let tenant: TenantStore;
beforeAll(async () => {
  database = await migratedDatabase();
  store = await openStore({ url: database.url, worker: "one", leaseMs: 60_000 });
  tenant = store.as("default");
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, [...values])).rows;
}

const flow = definition({ main: onePrompt });
let made = 0;

/** One graded submission, one before the creation of its run, and one with a run that was cancelled during a request. */
async function halfGraded() {
  made += 1;
  const key = `class ${made}`;
  const { id } = await tenant.batches.save(await classOf(tenant, flow, 3, { key, concurrency: 2 }));
  await admit(store);
  const run = async (number: number) => (await tenant.batches.work(id, memberOf(number).key))?.try?.runId ?? "";
  const tries = await query<{ run_id: string }>("select run_id from batch_runs where batch_id = $1 order by id", [id]);
  const runs = tries.map(({ run_id }) => run_id);
  await endWithGrade(store, await run(1), gradeWith({ tests: 6, style: 3 }));
  const [prompt] = await query<{ id: number }>("select id from activities where run_id = $1 and kind = 'prompt'", [
    await run(2),
  ]);
  const call = { activityId: prompt?.id ?? 0, callIndex: 0, claim: 1 };
  await store.reserve({
    tenant: "default",
    call,
    budgets: [id],
    want: { nanodollars: 9, tokens: 2 },
    leave: { nanodollars: 0, tokens: 0 },
    charge: {
      runId: await run(2),
      rootId: await run(2),
      model: "m",
      promptTokens: 1,
      completionTokens: 1,
      characters: 1,
    },
  });
  await cancelRun(store, await run(2), "enough");
  const died = () => {
    throw new Error("killed");
  };
  await expect(admit(store, 1_000, { failPoint: died })).rejects.toThrow("killed");
  return { id, runs, call, slow: runs[2] ?? "" };
}
type HalfGraded = Awaited<ReturnType<typeof halfGraded>>;

/** A supervisor that read the grading attempt before the deletion, and creates its run now. */
const makeLate = ({ id, slow }: HalfGraded) =>
  tenant.runs
    .create({
      id: slow,
      definition: flow,
      labels: { batch: id },
      budgets: [id],
      options: { grading: { batch: id } },
      idempotencyKey: `batch-try:${slow}`,
      requestHash: slow,
    })
    .catch(() => null);

/** The reply of the open request arrives. */
const replyLate = ({ runs: [, runId = ""], call }: HalfGraded) =>
  saveCall(
    store.database,
    { id: runId, rootId: runId, tenant: "default" },
    {
      key: { ...call, requestHash: "h" },
      model: "m",
      request: null,
      reply: "late",
      usage: { promptTokens: 1, completionTokens: 1, characters: 2, nanodollars: 5 },
    },
  );

/** Tables with a row that names the batch or one of its runs. */
async function tablesThatName({ id, runs }: HalfGraded): Promise<readonly string[]> {
  const tables = await query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'markmill' and table_type = 'BASE TABLE' order by 1",
  );
  const looks = tables.map(
    ({ name }) =>
      `select '${name}' as name where exists (select 1 from ${name} t where to_json(t)::text ~ any(array[${[id, ...runs].map((one) => `'${one}'`).join(",")}]))`,
  );
  return (await query<{ name: string }>(looks.join(" union all "))).map(({ name }) => name);
}

async function expectNothingLeft(batch: HalfGraded): Promise<void> {
  await settleAbandoned(store.database, 0);
  await gatherSpendings(store.database);
  await addDeletedUsage(store.database);
  await deleteOrphans(store, 0);
  expect(await tablesThatName(batch)).toEqual([]);
  expect(await query("select 1 from charges")).toEqual([]);
  expect(await query("select 1 from reservations")).toEqual([]);
  expect(await tenant.batches.get(batch.id)).toBeNull();
}

/** Kills the process at a statement outside a transaction. */
async function killedAtSingle(pool: Pool, at: number, when: "before" | "after", act: () => Promise<unknown>) {
  const plain = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let count = 0;
  const die = () => {
    throw new Error("killed");
  };
  pool.query = (async (...args: unknown[]) => {
    count += 1;
    if (count > at || (count === at && when === "before")) die();
    const result = await plain(...args);
    return count === at ? die() : result;
  }) as unknown as typeof pool.query;
  try {
    await act().catch((error: unknown) => {
      if (count < at) throw error;
    });
  } finally {
    pool.query = plain as unknown as typeof pool.query;
  }
  return { died: count >= at };
}

const { calm, hot } = { calm: () => store.database.calm, hot: () => store.database.hot };
const kills = [
  { what: "a single statement", kill: killedAtSingle, pool: calm },
  { what: "a statement of a transaction", kill: killedAtStatement, pool: calm },
  { what: "a statement that deletes runs", kill: killedAtStatement, pool: hot },
];

it.each(kills)(
  "a deletion of a batch that is killed at $what leaves nothing when it is repeated",
  async ({ kill, pool }) => {
    for (let at = 1; ; at += inject("thorough") ? 1 : 2) {
      let deaths = 0;
      // The point after a statement is the point before the next one.
      for (const when of inject("thorough") ? (["before", "after"] as const) : (["after"] as const)) {
        const batch = await halfGraded();
        const { died } = await kill(pool(), at, when, () => tenant.batches.delete(batch.id));
        if (died) deaths += 1;
        // Other processes work between the two deletions.
        await admit(store, 1_000, { onSkipped: () => undefined });
        if ((await tenant.runs.get(batch.slow)) !== null) await cancelRun(store, batch.slow, "enough");
        if (at % 4 < 2) await replyLate(batch);
        await tenant.batches.delete(batch.id);
        await makeLate(batch);
        if (at % 4 >= 2) await replyLate(batch);
        expect(await tenant.runs.get(batch.slow), `${at} ${when}`).toBeNull();
        await expectNothingLeft(batch);
      }
      if (deaths === 0) return expect(at).toBeGreaterThan(2);
    }
  },
);

it("a run that is created at any moment of the deletion is deleted with the batch, or is not created", async () => {
  for (let at = 1; ; at += 1) {
    const batch = await halfGraded();
    const plain = calm().query.bind(calm()) as (...args: unknown[]) => Promise<unknown>;
    let count = 0;
    calm().query = (async (...args: unknown[]) => {
      count += 1;
      if (count !== at) return await plain(...args);
      calm().query = plain as unknown as Pool["query"];
      await makeLate(batch);
      return await plain(...args);
    }) as unknown as Pool["query"];
    const deleted = await tenant.batches.delete(batch.id).catch((error: unknown) => error);
    calm().query = plain as unknown as Pool["query"];
    if (deleted !== true) {
      // The run was created first. It is open, so the class stays until the run has ended.
      expect(deleted).toMatchObject({ code: "STORE_RUN_OPEN" });
      await cancelRun(store, batch.slow, "enough");
      expect(await tenant.batches.delete(batch.id)).toBe(true);
    }
    await expectNothingLeft(batch);
    if (count < at) return expect(at).toBeGreaterThan(3);
  }
});
