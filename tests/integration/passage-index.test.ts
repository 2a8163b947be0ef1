// A search with pgvector finds the same passages in the same order as a scan. On PGlite, which has the real extension.
import { unitBytes } from "@markmill/llm";
import type { PoolClient } from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { migrate } from "../../packages/store/src/database/migrate.ts";
import {
  type FillOptions,
  fillPassageIndex,
} from "../../packages/store/src/memory/passage-index/fill-passage-index.ts";
import { makePassageIndex } from "../../packages/store/src/memory/passage-index/make-passage-index.ts";
import { explainPassageSearch, passageSearchOf } from "../../packages/store/src/memory/passage-index/passage-index.ts";
import { findCandidates } from "../../packages/store/src/memory/passage-index/search-passage-index.ts";
import { type FoundPassage, nearestPassages } from "../../packages/store/src/memory/passages.ts";
import { startVectorPostgres, type VectorPostgres } from "../support/pglite.ts";

let postgres: VectorPostgres;
const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await postgres.database.calm.query<Row>(text, values)).rows;
beforeAll(async () => {
  postgres = await startVectorPostgres();
  await migrate(postgres.database.calm);
});
afterAll(async () => {
  await postgres?.stop();
});

/** The same numbers in every run of the test. */
let state = 1;
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32 - 0.5;
};
const drawn = (dimensions: number) => unitBytes(Array.from({ length: dimensions }, chance));

let activities = 0;
interface Inserted {
  readonly scope: string;
  readonly tenant?: string;
  readonly rootId?: string;
  readonly vectors: readonly Uint8Array[];
}

async function insert({ scope, tenant = "default", rootId = "r", vectors }: Inserted): Promise<void> {
  activities += 1;
  await query(
    `insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
     select $1, $2, $3, 'e', $4, x.n, 'passage ' || x.n, x.vector from unnest($5::bytea[]) with ordinality as x(vector, n) order by x.n`,
    [tenant, scope, rootId, activities, vectors.map((one) => Buffer.from(one))],
  );
}

const several = (count: number, dimensions = 8) => Array.from({ length: count }, () => drawn(dimensions));
const of = (scope: string, tenant = "default") => ({ tenant, scope, embedder: "e" });
const nearest = (scope: string, vector: Uint8Array, top = 5): Promise<readonly FoundPassage[]> =>
  nearestPassages(postgres.database, of(scope), vector, top);
const fill = (options: FillOptions = {}) =>
  fillPassageIndex(postgres.database, { largeScope: 100, longTail: 20, ...options });
const indexed = async (scope: string) =>
  (
    await query<{ count: number }>(
      `select count(*)::integer as count from markmill_index.indexed_passages i join passages p on p.id = i.passage_id where p.scope = $1`,
      [scope],
    )
  )[0]?.count;

it("a migrated database has the vector index if the server has the extension", async () => {
  expect(await explainPassageSearch(postgres.database)).toMatchObject({ by: "pgvector", extensionSchema: "public" });
});

it("the vector index returns the results of a scan, in its order, before, during and after it is filled", async () => {
  const [twin = drawn(8)] = several(1);
  await insert({ scope: "filled", vectors: [...several(350), twin, ...several(50), twin, twin] });
  const asked = [twin, ...several(10)];
  const scanned = await Promise.all(asked.map((one) => nearest("filled", one)));
  expect(scanned[0]?.slice(0, 3).map(({ text }) => text)).toEqual(["passage 351", "passage 402", "passage 403"]);
  expect(await findCandidates(postgres.database, of("filled"), twin, 5)).toBeNull();
  expect(await fill({ onCopied: async () => false })).toBe(100);
  for (const whole of [false, true]) {
    if (whole) expect(await fill()).toBe(303);
    expect(await indexed("filled")).toBe(whole ? 403 : 100);
    expect((await findCandidates(postgres.database, of("filled"), twin, 5))?.ids.length).toBe(whole ? 200 : 100);
    expect(await Promise.all(asked.map((one) => nearest("filled", one)))).toEqual(scanned);
  }
  expect(await fill()).toBe(0);
});

it("the query plan of a search uses HNSW", async () => {
  await query("set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off");
  const plan = await query<{ "QUERY PLAN": string }>(
    `explain select passage_id from markmill_index.indexed_passages where scope_id = 1 and dimensions = 8
     order by vector::public.vector(8) operator(public.<#>) '[1,0,0,0,0,0,0,0]' limit 5`,
  );
  await query("reset enable_seqscan; reset enable_bitmapscan; reset enable_sort");
  expect(plan.map((line) => line["QUERY PLAN"]).join("\n")).toContain("indexed_passages_near_8");
});

it("new passages are found at once, and indexed when they are many", async () => {
  await insert({ scope: "growing", vectors: several(150) });
  await fill();
  const [late = drawn(8)] = several(1);
  await insert({ scope: "growing", vectors: [late] });
  expect(await fill()).toBe(0);
  expect((await nearest("growing", late, 1))[0]?.similarity).toBeCloseTo(1);
  await insert({ scope: "growing", vectors: several(30) });
  expect(await fill()).toBe(31);
  expect((await nearest("growing", late, 1))[0]?.similarity).toBeCloseTo(1);
});

it("a deleted passage is deleted from the index, and an empty scope leaves nothing", async () => {
  await insert({ scope: "going", rootId: "first", vectors: several(120) });
  const [kept = drawn(8)] = several(1);
  await insert({ scope: "going", rootId: "second", vectors: [kept, ...several(5)] });
  await fill();
  expect(await indexed("going")).toBe(126);
  await query("delete from passages where root_id = 'first'");
  expect(await indexed("going")).toBe(6);
  // The search returns fewer than requested, so the scan must find no more either.
  expect(await nearest("going", kept, 10)).toHaveLength(6);
  await query("delete from passages where root_id = 'second'");
  await fill();
  expect(await query("select 1 from markmill_index.indexed_scopes where scope = 'going'")).toEqual([]);
});

it("scopes in one index do not see each other", async () => {
  const [same = drawn(8)] = several(1);
  // With the passages of the other tests these are more than the index reads at once for a hundred results.
  await insert({ scope: "shared", tenant: "other", vectors: [same, ...several(inject("thorough") ? 1_000 : 300)] });
  await insert({ scope: "shared", vectors: several(101) });
  await fill();
  expect(await nearestPassages(postgres.database, of("shared", "nobody"), same, 5)).toEqual([]);
  const ours = await nearest("shared", same, 100);
  expect(ours).toHaveLength(100);
  expect(ours[0]?.similarity).toBeLessThan(0.9999);
  const theirs = await nearestPassages(postgres.database, of("shared", "other"), same, 1);
  expect(theirs[0]?.similarity).toBeCloseTo(1);
});

it("small scopes and vectors that are too long for the index are scanned, and an invalid vector is not near", async () => {
  await insert({ scope: "small", vectors: several(100) });
  const long = several(101, 2_001);
  await insert({ scope: "long", vectors: long });
  await insert({
    scope: "odd",
    vectors: [...several(110), new Uint8Array(32).fill(255), new Uint8Array()],
  });
  expect(await fill()).toBe(110);
  expect(await fill()).toBe(0);
  expect([await indexed("small"), await indexed("long"), await indexed("odd")]).toEqual([0, 0, 110]);
  expect((await nearest("long", long[50] ?? drawn(2_001), 1))[0]).toMatchObject({ text: "passage 51" });
  expect(await nearest("odd", drawn(8), 3)).toHaveLength(3);
});

it("without the extension a search scans and loses nothing, and with it the index is built again", async () => {
  const asked = drawn(8);
  const before = await nearest("filled", asked);
  await query("drop extension vector cascade");
  expect(await explainPassageSearch(postgres.database)).toEqual({ by: "scan", why: "not created" });
  expect(await nearest("filled", asked)).toEqual(before);
  expect(await fill()).toBe(0);
  await query(
    "create role plain; grant usage on schema markmill to plain; grant all on all tables in schema markmill to plain",
  );
  await asPlain(makePassageIndex);
  expect(await passageSearchOf(postgres.database)).toMatchObject({ by: "scan" });
  expect(await migrate(postgres.database.calm)).toEqual([]);
  expect(await passageSearchOf(postgres.database)).toMatchObject({ by: "pgvector" });
  expect(await fill()).toBeGreaterThan(400);
  expect(await nearest("filled", asked)).toEqual(before);
  // A role that may not read the whole index scans.
  expect(await asPlain(() => nearest("filled", asked))).toEqual(before);
  await query(
    "grant usage on schema markmill_index to plain; grant select on markmill_index.indexed_passages to plain",
  );
  expect(await asPlain(() => passageSearchOf(postgres.database))).toMatchObject({ by: "pgvector" });
  expect(await asPlain(() => nearest("filled", asked))).toEqual(before);
});

/** Connects as a role that may use the tables and create nothing. */
async function asPlain<Result>(act: (client: PoolClient) => Promise<Result>): Promise<Result> {
  await query("set role plain");
  const client = await postgres.database.hot.connect();
  try {
    return await act(client);
  } finally {
    client.release();
    await query("reset role");
  }
}
