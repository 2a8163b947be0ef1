/** A printed short id names its run or class for ever, here and at a server, and through an index. */

import { createClient } from "@markmill/contract";
import type { PoolClient } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { batchMeant, findBatch } from "../../apps/cli/src/find-batch.ts";
import { findRun } from "../../apps/cli/src/find-run.ts";
import { shortId } from "../../apps/cli/src/short-id.ts";
import { remoteStore } from "../../packages/stack/src/remote-store.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { classOf } from "../support/class.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { createRun, defaultTenant, openStore, type Store, type TenantStore } from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
let remote: TenantStore;
beforeAll(async () => {
  database = await migratedDatabase();
  store = await openStore({ url: database.url, worker: "one", leaseMs: 60_000 });
  api = await startApi({ store, queues: null });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const client = createClient({ url: api.url, token: await api.key(["owner"]) });
  remote = remoteStore(client, log as unknown as Parameters<typeof remoteStore>[1]);
});
afterAll(async () => {
  await api.close();
  await store.close();
  await database.drop();
});

async function query(text: string, values: readonly unknown[] = []): Promise<void> {
  await store.database.calm.query(text, [...values]);
}

const flow = definition({ main: onePrompt });
const ours = () => store.as(defaultTenant);
const both = () => [ours(), remote];

/** Bare rows with ids that start after those of earlier rows. */
async function manyRuns(count: number, tenant: string): Promise<void> {
  await query(
    `insert into runs (id, root_id, tenant, definition_hash, program, name, status, phase, epoch, rev, kept, depth)
     select x, x, $2, 'none', 'main', 'bare', 'doing', 'doing', 1, 1, '{}', 0 from (
       select overlay(gen_random_uuid()::text placing '0199ffff-ffff-7' from 1 for 15) as x from generate_series(1, $1)) ids`,
    [count, tenant],
  );
  await query("analyze runs");
}

/** The rows that the statements of `act` read, by Postgres's plans for them. */
async function rowsRead(act: () => Promise<unknown>): Promise<{ readonly statements: number; readonly rows: number }> {
  const { calm } = store.database;
  const seen: { text: string; values: unknown[] }[] = [];
  const plain = calm.query.bind(calm) as (...args: unknown[]) => unknown;
  calm.query = ((...args: unknown[]) => {
    const [text, values] =
      typeof args[0] === "string"
        ? [args[0], args[1]]
        : [(args[0] as { text: string }).text, (args[0] as { values: unknown[] }).values];
    seen.push({ text, values: (values ?? []) as unknown[] });
    return plain(...args);
  }) as typeof calm.query;
  try {
    await act();
  } finally {
    calm.query = plain as typeof calm.query;
  }
  let rows = 0;
  const client: PoolClient = await calm.connect();
  try {
    for (const { text, values } of seen) {
      const {
        rows: [plan],
      } = await client.query(`explain (analyze, format json) ${text}`, values);
      rows += scanned((plan as { "QUERY PLAN": { Plan: Plan }[] })["QUERY PLAN"][0]?.Plan);
    }
  } finally {
    client.release();
  }
  return { statements: seen.length, rows };
}

interface Plan {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Plan[];
}

function scanned(plan: Plan | undefined): number {
  if (plan === undefined) return 0;
  const removed = (plan["Rows Removed by Filter"] ?? 0) + (plan["Rows Removed by Index Recheck"] ?? 0);
  const own = plan["Node Type"].includes("Scan") ? (plan["Actual Rows"] + removed) * plan["Actual Loops"] : 0;
  return own + (plan.Plans ?? []).reduce((sum, one) => sum + scanned(one), 0);
}

it("the beginning and the end of an id find a run behind any number of newer runs", async () => {
  const { runId } = await createRun(store, { definition: flow });
  await manyRuns(6_000, defaultTenant);
  await manyRuns(2_000, "other");
  for (const tenant of both()) {
    for (const part of [shortId(runId), runId.slice(-7), runId.slice(0, 13), runId.toUpperCase().slice(-12), runId]) {
      expect((await findRun(tenant, part)).id).toBe(runId);
    }
    for (const wrong of ["ffffffffffff0", "0000-", "%", "_______", "x".repeat(50)]) {
      await expect(findRun(tenant, wrong)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    }
  }
  const { statements, rows } = await rowsRead(() => ours().runs.list({ idPart: shortId(runId) }));
  expect(statements).toBe(2);
  expect(rows).toBeLessThan(20);
  expect((await rowsRead(() => ours().runs.list({ idPart: runId.slice(0, 13) }))).rows).toBeLessThan(20);
});

it("a part of an id that fits several runs is refused, and the runs are listed", async () => {
  const ids = ["0199aaaa-0000-7000-8000-00000000beef", "0199aaaa-1111-7000-8000-11110000beef"];
  for (const id of ids) {
    await query(
      `insert into runs (id, root_id, tenant, definition_hash, program, name, status, phase, epoch, rev, kept, depth)
       values ($1, $1, $2, 'none', 'main', 'twin', 'doing', 'doing', 1, 1, '{}', 0) on conflict do nothing`,
      [id, defaultTenant],
    );
  }
  for (const tenant of both()) {
    for (const part of ["0000beef", "0199aaaa"]) {
      const refusal = await findRun(tenant, part).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ name: "UsageError" });
      for (const id of ids) expect((refusal as Error).message).toContain(id);
    }
    expect((await ours().runs.list({ idPart: "1110000beef" })).runs.map(({ id }) => id)).toEqual([ids[1]]);
  }
});

it("a short id finds a class behind any number of newer classes, and is refused if it fits a run too", async () => {
  const save = async (id: string) => {
    const { id: made } = await ours().batches.save({ ...(await classOf(ours(), flow, 1)), key: id });
    await query("update batches set id = $1 where id = $2", [id, made]);
  };
  const [old, twin] = ["0198aaaa-0000-7000-8000-00000000cafe", "0198aaaa-2222-7000-8000-12340000cafe"];
  await save(old);
  await query(
    `insert into batches (id, tenant, key, name, definition_hash, rubric, rubric_hash, settings, secret, concurrency)
     select overlay(gen_random_uuid()::text placing '0199ffff-ffff-7' from 1 for 15), tenant, gen_random_uuid(), name, definition_hash,
       rubric, rubric_hash, settings, secret, concurrency from batches, generate_series(1, 600) where id = $1`,
    [old],
  );
  for (const tenant of both()) {
    expect((await findBatch(tenant, shortId(old), "/")).id).toBe(old);
    expect((await findBatch(tenant, old.slice(0, 13), "/")).id).toBe(old);
    expect((await batchMeant(tenant, shortId(old), "/"))?.id).toBe(old);
    expect(await batchMeant(tenant, "0199aaaa-0000", "/")).toBeNull();
  }
  await save(twin);
  for (const tenant of both()) {
    const refusal = await findBatch(tenant, "0000cafe", "/").catch((error: unknown) => error);
    for (const id of [old, twin]) expect((refusal as Error).message).toContain(id);
  }
  await query("update runs set id = '0199aaaa-3333-7000-8000-12340000cafe' where id like '%1110000beef'");
  for (const tenant of both()) {
    const refusal = await batchMeant(tenant, "12340000cafe", "/").catch((error: unknown) => error);
    expect((refusal as Error).message).toContain(twin);
    expect((refusal as Error).message).toContain("0199aaaa-3333-7000-8000-12340000cafe");
    expect((await batchMeant(tenant, twin, "/"))?.id).toBe(twin);
  }
});
