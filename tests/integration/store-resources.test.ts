import {
  beat,
  buryWorkers,
  callsOfRun,
  claimSession,
  createRun,
  deleteOldRuns,
  findCall,
  getBudget,
  getRun,
  listWorkers,
  loadBlob,
  migrate,
  openBudget,
  openStore,
  pauseRate,
  releaseReservation,
  releaseSession,
  reserve,
  type Store,
  type StoredCall,
  saveBlob,
  saveCall,
  saveSession,
  spentOf,
  takeRate,
  withLeadership,
} from "@markmill/store";
import { getTableColumns, is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as activities from "../../packages/store/src/schema/activities.ts";
import * as conversations from "../../packages/store/src/schema/conversations.ts";
import * as resources from "../../packages/store/src/schema/resources.ts";
import * as runs from "../../packages/store/src/schema/runs.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { chain, claimed, definition, onePrompt, only, perform } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one" });
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

describe("migrations", () => {
  it("started by several at once are applied once", async () => {
    const fresh = await freshDatabase();
    const pools = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: fresh.url, max: 1 }));
    const applied = await Promise.all(pools.map((pool) => migrate(pool)));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(applied.flat()).toEqual([
      "0001-runs",
      "0002-resources",
      "0003-fencing",
      "0004-light-activities",
      "0005-lean-runs",
      "0006-trouble",
    ]);
    await Promise.all(pools.map((pool) => pool.end()));
    await fresh.drop();
  });

  it("stop what still runs from before: it would write a run without the variables that stand in its state", async () => {
    for (const statement of ["select r.state::json from runs r", "update runs set state = state"]) {
      await expect(store.database.hot.query(statement)).rejects.toThrow(/column .*state.* does not exist/);
    }
  });

  it("refuse a schema that is newer than the program, and one whose past was changed", async () => {
    const fresh = await freshDatabase();
    const pool = new pg.Pool({ connectionString: fresh.url, max: 1 });
    await migrate(pool);
    await pool.query("update markmill.migrations set checksum = 'other' where name = '0001-runs'");
    await expect(migrate(pool)).rejects.toMatchObject({ code: "STORE_SCHEMA_CHANGED" });
    await pool.query("insert into markmill.migrations (name, checksum) values ('9999-future', 'x')");
    await pool.query("delete from markmill.migrations where name <> '9999-future'");
    await expect(openStore({ url: fresh.url })).rejects.toMatchObject({
      code: "STORE_SCHEMA_NEWER",
      message: expect.stringContaining("9999-future"),
      fix: expect.stringContaining("Update"),
    });
    await pool.end();
    await fresh.drop();
  });

  it("make exactly the tables and columns that the schema files say", async () => {
    const tables = [activities, conversations, resources, runs]
      .flatMap((module) => Object.values<unknown>(module))
      .filter((value) => is(value, PgTable));
    const said = tables.flatMap((table) =>
      Object.values(getTableColumns(table)).map(
        (column) =>
          `${getTableConfig(table).name}.${column.name} ${column.getSQLType()}${column.notNull ? " not null" : ""}`,
      ),
    );
    const { rows } = await store.database.calm.query<{ column: string }>(
      `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, null) || case when a.attnotnull then ' not null' else '' end as column
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where c.relnamespace = 'markmill'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and c.relname <> 'migrations'`,
    );
    expect(said.sort()).toEqual(rows.map(({ column }) => column).sort());
  });
});

it("an unreachable server is named, with what to do, in bounded time", async () => {
  const started = performance.now();
  await expect(openStore({ url: "postgres://nobody@127.0.0.1:9/none" })).rejects.toMatchObject({
    code: "STORE_UNREACHABLE",
    fix: expect.stringContaining("DATABASE_URL"),
    transient: true,
  });
  expect(performance.now() - started).toBeLessThan(15_000);
});

describe("budgets", () => {
  it("are never overspent by fifty who reserve at once", async () => {
    await openBudget(store.database, "class", { nanodollars: 1_000, tokens: null });
    await openBudget(store.database, "run", { nanodollars: null, tokens: 10_000 });
    const workers = await Promise.all(
      Array.from({ length: 5 }, () => openStore({ url: database.url, migrate: false })),
    );
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        reserve((workers[i % 5] ?? store).database, { activityId: 1_000 + i, callIndex: 0 }, ["class", "run"], {
          nanodollars: 30,
          tokens: 1,
        }),
      ),
    );
    expect(verdicts.filter(({ kind }) => kind === "reserved")).toHaveLength(33);
    expect(verdicts.find(({ kind }) => kind === "refused")).toMatchObject({
      code: "LIMIT_COST",
      budget: { id: "class" },
    });
    expect(await getBudget(store.database, "class")).toMatchObject({ reserved: { nanodollars: 990 } });
    expect(await getBudget(store.database, "run")).toMatchObject({ reserved: { tokens: 33 } });
    await Promise.all(workers.map((worker) => worker.close()));
  });

  it("hold one reservation per call however often it is asked for, settle it once, or let it go", async () => {
    await openBudget(store.database, "one", { nanodollars: 100, tokens: null });
    const call = { activityId: 7, callIndex: 0 };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => reserve(store.database, call, ["one"], { nanodollars: 60, tokens: 5 })),
    );
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(["reserved"]));
    expect(await getBudget(store.database, "one")).toMatchObject({ reserved: { nanodollars: 60, tokens: 5 } });
    const paid: StoredCall = {
      key: { ...call, requestHash: "h" },
      model: "m",
      request: { text: "q" },
      reply: { text: "first\0" },
      usage: { promptTokens: 2, completionTokens: 3, characters: 9, nanodollars: 40 },
    };
    const run = { id: "r", rootId: "r" };
    await saveCall(store.database, run, paid);
    await saveCall(store.database, run, { ...paid, reply: { text: "second" } });
    expect(await getBudget(store.database, "one")).toMatchObject({
      reserved: { nanodollars: 0, tokens: 0 },
      spent: { nanodollars: 40, tokens: 5 },
    });
    expect(await findCall(store.database, paid.key)).toMatchObject({ reply: { text: "first\ufffd" } });
    expect(await findCall(store.database, { ...paid.key, requestHash: "another" })).toBeNull();
    expect(await spentOf(store.database, "r")).toMatchObject({ calls: 1, nanodollars: 40 });
    expect(await callsOfRun(store.database, "r")).toHaveLength(1);

    const second = { activityId: 8, callIndex: 0 };
    expect((await reserve(store.database, second, ["one"], { nanodollars: 61, tokens: 0 })).kind).toBe("refused");
    expect((await reserve(store.database, second, ["one"], { nanodollars: 60, tokens: 0 })).kind).toBe("reserved");
    await releaseReservation(store.database, second);
    await releaseReservation(store.database, second);
    expect(await getBudget(store.database, "one")).toMatchObject({
      reserved: { nanodollars: 0 },
      spent: { nanodollars: 40 },
    });
  });

  it("come with a run that has a cap, and only then", async () => {
    const capped = await createRun(store, { definition: definition({ main: onePrompt }), caps: { nanodollars: 500 } });
    expect((await claimed(store, only(capped.rings))).run.budgets).toEqual([capped.runId]);
    expect(await getBudget(store.database, capped.runId)).toMatchObject({ cap: { nanodollars: 500, tokens: null } });
    const free = await createRun(store, { definition: definition({ main: onePrompt }) });
    expect(await getBudget(store.database, free.runId)).toBeNull();
  });
});

describe("a rate limit", () => {
  it("lets the burst pass and tells the rest how long to wait", async () => {
    const rate = { requestsPerMinute: 60, tokensPerMinute: null };
    const waits: number[] = [];
    for (let i = 0; i < 63; i++) waits.push(await takeRate(store.database, "fast", rate, 10));
    expect(waits.slice(0, 60)).toEqual(Array(60).fill(0));
    expect(waits[62]).toBeGreaterThan(waits[60] ?? 0);
    expect(waits[62]).toBeLessThanOrEqual(3_000);
  });

  it("counts tokens too, and a pause holds everybody", async () => {
    const rate = { requestsPerMinute: null, tokensPerMinute: 6_000 };
    expect(await takeRate(store.database, "long", rate, 6_000)).toBe(0);
    expect(await takeRate(store.database, "long", rate, 600)).toBeGreaterThan(5_000);
    await pauseRate(store.database, "calm", 4_000);
    const none = { requestsPerMinute: null, tokensPerMinute: null };
    expect(await takeRate(store.database, "calm", none, 1)).toBeGreaterThan(3_000);
    expect(await takeRate(store.database, "free", none, 1)).toBe(0);
  });
});

describe("a sandbox session", () => {
  it("has one holder; the next gets state and checkpoint, and learns who had it", async () => {
    const want = { id: "tree", kind: "jail", host: "h1", worker: "w1", leaseMs: 5_000 };
    expect(await claimSession(store.database, want)).toMatchObject({ kind: "held", previous: null });
    expect(await claimSession(store.database, want)).toMatchObject({ kind: "held", previous: { worker: "w1" } });
    const rival = { ...want, host: "h2", worker: "w2" };
    expect(await claimSession(store.database, rival)).toMatchObject({ kind: "busy", host: "h1", worker: "w1" });
    expect(await saveSession(store.database, "tree", "w1", { state: { cwd: "/work" }, checkpointHash: "c1" })).toBe(
      true,
    );
    expect(await saveSession(store.database, "tree", "w1", { state: { cwd: "/work" }, checkpointHash: null })).toBe(
      true,
    );
    expect(await saveSession(store.database, "tree", "w2", { state: {}, checkpointHash: null })).toBe(false);
    await releaseSession(store.database, "tree", "w1");
    expect(await claimSession(store.database, rival)).toMatchObject({
      kind: "held",
      previous: { host: "h1", worker: "w1" },
      session: { state: { cwd: "/work" }, checkpointHash: "c1", worker: "w2" },
    });
  });
});

it("a worker that is silent too long is buried and its leases end", async () => {
  const { rings } = await createRun(store, { definition: definition({ main: onePrompt }) });
  await beat(store.database, { id: "one", host: "h", info: { version: "1" } });
  await claimed(store, only(rings));
  expect(await buryWorkers(store.database, 60_000)).toEqual([]);
  await store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '2 minutes'");
  expect(await buryWorkers(store.database, 60_000)).toEqual(["one"]);
  expect(await listWorkers(store.database)).toEqual([]);
  expect((await claimed(store, only(rings))).interrupted).toBe(true);
});

it("of two supervisors one leads, and the other after it", async () => {
  const rival = await openStore({ url: database.url, migrate: false });
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const { promise: leads, resolve: lead } = Promise.withResolvers<void>();
  const leading = withLeadership(store.database, () => {
    lead();
    return finished;
  });
  await leads;
  expect(await withLeadership(rival.database, async () => undefined)).toBe("another leads");
  finish();
  expect(await leading).toBe("led");
  await expect.poll(() => withLeadership(rival.database, async () => undefined)).toBe("led");
  await rival.close();
});

it("blobs are stored once, by content", async () => {
  const bytes = Buffer.from([0, 1, 2, 255]);
  const hash = await saveBlob(store.database, bytes);
  expect(await saveBlob(store.database, bytes)).toBe(hash);
  expect(await loadBlob(store.database, hash)).toEqual(bytes);
  expect(await loadBlob(store.database, "none")).toBeNull();
});

it("old runs go with everything that hangs on them, running ones stay", async () => {
  const old = await createRun(store, { definition: definition({ main: chain(1) }) });
  await perform(store, only(old.rings));
  const running = await createRun(store, { definition: definition({ main: chain(1) }) });
  await store.database.calm.query("update runs set ended_at = ended_at - interval '2 days' where id = $1", [old.runId]);
  expect(await deleteOldRuns(store.database, 86_400_000)).toBe(1);
  expect(await getRun(store.database, old.runId)).toBeNull();
  for (const table of ["activities", "variables", "events"]) {
    const { rows } = await store.database.calm.query(`select 1 from ${table} where run_id = $1`, [old.runId]);
    expect(rows).toEqual([]);
  }
  expect(await getRun(store.database, running.runId)).toMatchObject({ status: "doing" });
});

it("a database that restarts its connections does not lose a commit", async () => {
  const { runId, rings } = await createRun(store, { definition: definition({ main: chain(30) }) });
  let next = rings;
  for (let i = 0; i < 30; i++) {
    if (i % 10 === 5) {
      const killer = new pg.Client({ connectionString: database.url });
      await killer.connect();
      await killer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      await killer.end();
    }
    next = (await perform(store, only(next))).rings;
  }
  expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 31 });
});
