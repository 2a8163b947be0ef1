import type { Session } from "@markmill/sandbox";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMigrations } from "../../packages/store/src/database/migrate.ts";
import { createSessionCheckpoints, type SessionUse } from "../../packages/worker/src/session-checkpoints.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  beat,
  beginExecute,
  buryWorkers,
  callsOfRun,
  chainOf,
  claimSession,
  createRun,
  currentPauses,
  defaultTenant,
  deleteEndedCheckpoints,
  deleteOldRuns,
  endPause,
  findCall,
  getBudget,
  getRun,
  insertRuns,
  leaveProbe,
  listWorkers,
  loadBlob,
  loadCheckpoints,
  migrate,
  openBudget,
  openStore,
  pauseRate,
  type Rate,
  releaseReservation,
  releaseSession,
  renewProbe,
  reserve,
  type Store,
  type StoredCall,
  saveBlob,
  saveCall,
  saveMark,
  saveRewound,
  saveSession,
  settleMark,
  spentOf,
  takeRate,
  withLeadership,
} from "../support/store.ts";
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
  it("are applied once if several processes start them at the same time", async () => {
    const fresh = await freshDatabase();
    const pools = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: fresh.url, max: 1 }));
    const applied = await Promise.all(pools.map((pool) => migrate(pool)));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(applied.flat()).toEqual(readMigrations().map(({ name }) => name));
    expect(applied.flat()[0]).toBe("0001-runs");
    await Promise.all(pools.map((pool) => pool.end()));
    await fresh.drop();
  });

  it("stop processes of the earlier version, which would write runs without their variables", async () => {
    for (const statement of ["select r.state::json from runs r", "update runs set state = state"]) {
      await expect(store.database.hot.query(statement)).rejects.toThrow(/column .*state.* does not exist/);
    }
  });

  it("refuse a schema that is newer than the program, and one with a changed past", async () => {
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
});

it("an unreachable database server is named within bounded time, with advice", async () => {
  await expect(openStore({ url: "postgres://nobody@127.0.0.1:9/none" })).rejects.toMatchObject({
    code: "STORE_UNREACHABLE",
    fix: expect.stringContaining("DATABASE_URL"),
    transient: true,
  });
}, 60_000);

describe("budgets of a tree of runs", () => {
  it("are never exceeded by fifty parallel reservations", async () => {
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

  it("hold one reservation per call however often it is requested, and book or release it once", async () => {
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
    const run = { id: "r", rootId: "r", tenant: defaultTenant };
    await insertRuns(store.database, ["r"]);
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

  it("are created for a run with a limit, and for no other run", async () => {
    const capped = await createRun(store, { definition: definition({ main: onePrompt }), caps: { nanodollars: 500 } });
    expect((await claimed(store, only(capped.jobs))).run.budgets).toEqual([capped.runId]);
    expect(await getBudget(store.database, capped.runId)).toMatchObject({ cap: { nanodollars: 500, tokens: null } });
    const free = await createRun(store, { definition: definition({ main: onePrompt }) });
    expect(await getBudget(store.database, free.runId)).toBeNull();
  });
});

describe("a rate limit", () => {
  const none = { requestsPerMinute: null, tokensPerMinute: null };
  const at = (model: string, endpoint = "http://models.test/v1") => ({ tenant: defaultTenant, endpoint, model });
  const take = (model: string, rate: Rate = none, tokens = 1, taker = "one") =>
    takeRate(store.database, at(model), rate, tokens, taker);
  const waitOf = async (...asked: Parameters<typeof take>) => {
    const slot = await take(...asked);
    return slot.kind === "granted" ? slot.waitMs : Number.NaN;
  };

  // The start of a slot is stored when the slot is granted. It does not depend on when its caller gets the answer.
  const slots = async (act: () => Promise<unknown>) => {
    const { calm } = store.database;
    await calm.query("create table granted (id serial, model text, at timestamptz)");
    await calm.query(`create function note_granted() returns trigger language plpgsql as
      'begin insert into granted (model, at) values (new.model, new.starts_at); return new; end'`);
    await calm.query(
      "create trigger noted after insert or update on rates for each row execute function note_granted()",
    );
    try {
      await act();
      const { rows } = await calm.query<{ model: string; ms: number }>(
        "select model, extract(epoch from at)::float8 * 1000 as ms from granted order by id",
      );
      return rows.map(({ model, ms }) => ({ model, ms: Math.round(ms) }));
    } finally {
      await calm.query("drop table granted");
      await calm.query("drop function note_granted cascade");
    }
  };

  it("sends a tenth of a minute's limit at once and spreads the rest evenly", async () => {
    const rate = { requestsPerMinute: 60, tokensPerMinute: null };
    const waits: number[] = [];
    const begin = await slots(async () => {
      for (let i = 0; i < 20; i++) waits.push(await waitOf("fast", rate));
    });
    expect(waits.slice(0, 6)).toEqual(Array(6).fill(0));
    // A slot starts five seconds before the granted requests are done, at one second each, or at once if that time has passed.
    let until = Number.NEGATIVE_INFINITY;
    for (const [index, { ms }] of begin.entries()) {
      if (waits[index] === 0) expect(ms).toBeGreaterThanOrEqual(until - 5_000);
      else expect(ms).toBe(until - 5_000);
      until = Math.max(ms, until) + 1_000;
    }
    expect(begin).toHaveLength(20);
  });

  it("sends no more than the limit and its burst in any minute, for fifty parallel requests", async () => {
    const rate = { requestsPerMinute: 30, tokensPerMinute: null };
    const begin = await slots(() => Promise.all(Array.from({ length: 50 }, () => waitOf("even", rate))));
    expect(begin).toHaveLength(50);
    for (const { ms } of begin)
      expect(begin.filter((other) => other.ms >= ms && other.ms < ms + 60_000).length).toBeLessThanOrEqual(33);
  });

  it("counts tokens too, and counts each endpoint and model separately", async () => {
    const rate = { requestsPerMinute: null, tokensPerMinute: 6_000 };
    const begin = await slots(async () => {
      expect(await waitOf("long", rate, 6_000)).toBe(0);
      await waitOf("long", rate, 600);
      expect(await waitOf("longer", rate, 600)).toBe(0);
      expect(await takeRate(store.database, at("long", "http://other.test/v1"), rate, 600, "one")).toMatchObject({
        waitMs: 0,
      });
    });
    expect((begin[1]?.ms ?? 0) - (begin[0]?.ms ?? 0)).toBe(54_000);
  });
});

describe("a pause of an endpoint", () => {
  const none = { requestsPerMinute: null, tokensPerMinute: null };
  const at = (model: string, endpoint = "http://models.test/v1") => ({ tenant: defaultTenant, endpoint, model });
  const take = (model: string, taker: string) => takeRate(store.database, at(model), none, 1, taker);
  const pause = (model: string, wishMs: number | null, mostMs = 300_000, prober: string | null = null) =>
    pauseRate(store.database, at(model), { wishMs, reason: "429 slow down", prober, mostMs });
  const let1Pass = (model: string) =>
    store.database.calm.query(
      "update rates set paused_until = paused_until - interval '10 minutes', probe_until = probe_until - interval '10 minutes' where model = $1",
      [model],
    );

  it("applies to all callers, for the requested time but at most the maximum, and is visible", async () => {
    await pause("calm", 86_400_000);
    const held = await take("calm", "one");
    expect(held).toMatchObject({ kind: "paused", probing: false, reason: "429 slow down" });
    const { rows } = await store.database.calm.query(
      "select extract(epoch from paused_until - paused_at)::integer as seconds from rates where model = 'calm'",
    );
    expect(rows).toEqual([{ seconds: 300 }]);
    expect(await takeRate(store.database, at("calm", "http://other.test/v1"), none, 1, "one")).toMatchObject({
      kind: "granted",
    });
    const seen = (await currentPauses(store.database)).filter(({ model }) => model === "calm");
    expect(seen).toMatchObject([{ endpoint: "http://models.test/v1", reason: "429 slow down", refusals: 1 }]);
  });

  it("lets one probe through at its end, and an answer ends the pause for all", async () => {
    await pause("probed", 60_000);
    await endPause(store.database, at("probed"), "who probed an earlier pause");
    expect((await take("probed", "x")).kind).toBe("paused");
    await let1Pass("probed");
    const all = await Promise.all(["a", "b", "c", "d"].map((taker) => take("probed", taker)));
    const probes = all.filter((slot) => slot.kind === "granted" && slot.probe);
    expect(probes).toHaveLength(1);
    expect(all.filter((slot) => slot.kind === "paused" && slot.probing)).toHaveLength(3);
    const prober = ["a", "b", "c", "d"][all.findIndex(({ kind }) => kind === "granted")] ?? "";
    expect((await take("probed", "x")).kind).toBe("paused");
    await endPause(store.database, at("probed"), prober);
    expect(await take("probed", "x")).toMatchObject({ kind: "granted", probe: false });
    expect((await currentPauses(store.database)).filter(({ model }) => model === "probed")).toEqual([]);
  });

  it("ends with the answer of a slow probe that another probe has replaced", async () => {
    await pause("slow", 1_000);
    await let1Pass("slow");
    expect(await take("slow", "first")).toMatchObject({ probe: true });
    await let1Pass("slow");
    expect(await take("slow", "second")).toMatchObject({ probe: true });
    await endPause(store.database, at("slow"), "first");
    expect(await take("slow", "third")).toMatchObject({ kind: "granted", probe: false });
  });

  it("is renewed and doubled by a refused probe, up to the maximum, and open calls that are refused count once", async () => {
    await pause("again", null);
    for (let i = 0; i < 5; i++) await pause("again", null);
    const waits: number[] = [];
    for (let i = 0; i < 5; i++) {
      await let1Pass("again");
      expect(await take("again", `probe ${i}`)).toMatchObject({ kind: "granted", probe: true });
      await pause("again", null, 5_000, `probe ${i}`);
      const slot = await take("again", "x");
      waits.push(slot.kind === "paused" ? Math.ceil(slot.forMs / 1_000) : 0);
    }
    expect(waits).toEqual([2, 4, 5, 5, 5]);
  });

  it("continues after the probe's worker was killed, and replaces that probe but no living one", async () => {
    await pause("dead", 1_000);
    await let1Pass("dead");
    expect(await take("dead", "dies")).toMatchObject({ probe: true });
    expect(await take("dead", "next")).toMatchObject({ kind: "paused", probing: true });
    await let1Pass("dead");
    expect(await take("dead", "next")).toMatchObject({ kind: "granted", probe: true });
    await let1Pass("dead");
    await renewProbe(store.database, at("dead"), "dies");
    await renewProbe(store.database, at("dead"), "next");
    expect(await take("dead", "third")).toMatchObject({ kind: "paused", probing: true });
    await leaveProbe(store.database, at("dead"), "next");
    expect(await take("dead", "third")).toMatchObject({ kind: "granted", probe: true });
  });
});

describe("a sandbox session", () => {
  it("has one holder, and the next holder gets its state and learns the last holder", async () => {
    const want = { id: "tree", kind: "jail", host: "h1", worker: "w1", leaseMs: 5_000 };
    expect(await claimSession(store.database, want)).toMatchObject({ kind: "held", previous: null });
    expect(await claimSession(store.database, want)).toMatchObject({ kind: "held", previous: { worker: "w1" } });
    const rival = { ...want, host: "h2", worker: "w2" };
    expect(await claimSession(store.database, rival)).toMatchObject({ kind: "busy", host: "h1", worker: "w1" });
    expect(await saveSession(store.database, "tree", "w1", { cwd: "/work" })).toBe(true);
    expect(await saveSession(store.database, "tree", "w2", {})).toBe(false);
    await releaseSession(store.database, "tree", "w1");
    expect(await claimSession(store.database, rival)).toMatchObject({
      kind: "held",
      previous: { host: "h1", worker: "w1", gaveBack: true },
      session: { state: { cwd: "/work" }, worker: "w2" },
    });
  });

  it("goes to a later claim of the same activity, and to no other activity", async () => {
    const want = { id: "fenced", kind: "jail", host: "h1", worker: "w1", leaseMs: 60_000 };
    expect(await claimSession(store.database, { ...want, activity: { id: 7, claim: 2 } })).toMatchObject({
      kind: "held",
    });
    const rival = { ...want, worker: "w2" };
    for (const activity of [{ id: 7, claim: 2 }, { id: 7, claim: 1 }, { id: 8, claim: 9 }, undefined]) {
      const claim = await claimSession(store.database, activity === undefined ? rival : { ...rival, activity });
      expect(claim).toMatchObject({ kind: "busy", worker: "w1" });
    }
    expect(await claimSession(store.database, { ...rival, activity: { id: 7, claim: 3 } })).toMatchObject({
      kind: "held",
      previous: { worker: "w1", gaveBack: false },
    });
    expect(await saveSession(store.database, "fenced", "w1", {})).toBe(false);
  });

  it("stores its first mark and the reason for a missing checkpoint with one statement", async () => {
    const want = { id: "first", kind: "jail", host: "h1", worker: "w1", leaseMs: 60_000 };
    const standing = { state: {}, instance: "i1", processes: [], manifest: Buffer.from("m") };
    await claimSession(store.database, want);
    await saveMark(store.database, want.id, "w1", standing, 0, null, "too many files");
    expect(await claimSession(store.database, want)).toMatchObject({
      marks: { latest: { problem: "too many files" } },
    });
    await saveMark(store.database, want.id, "w1", standing, 0, null);
    expect(await claimSession(store.database, want)).toMatchObject({ marks: { latest: { problem: null } } });
  });

  it("loses its processes in both marks, with one statement, if it ended because of its own content", async () => {
    const want = { id: "ended", kind: "docker", host: "h1", worker: "w1", leaseMs: 60_000 };
    const standing = { state: {}, instance: "i1", processes: ["9 1"], manifest: Buffer.from("m") };
    await claimSession(store.database, want);
    await saveMark(store.database, want.id, "w1", standing, 0, null);
    await beginExecute(store.database, want.id, "w1", 1);
    const settle = (worker: string, ended: boolean) =>
      settleMark(store.database, want.id, worker, { cwd: "/" }, { problem: null, ended });
    const marks = async () => {
      const claim = await claimSession(store.database, want);
      if (claim.kind !== "held") throw new Error("The session is held by another worker.");
      const { latest, begun } = claim.marks;
      return [latest, begun].map((mark) => [mark?.settled, mark?.processes, mark?.state]);
    };
    expect(await marks()).toEqual([
      [false, ["9 1"], {}],
      [true, ["9 1"], {}],
    ]);
    expect(await settle("w2", true)).toBe(false);
    expect(await settle("w1", false)).toBe(true);
    expect(await marks()).toEqual([
      [true, ["9 1"], { cwd: "/" }],
      [true, ["9 1"], {}],
    ]);
    expect(await settle("w1", true)).toBe(true);
    const settled = [
      [true, [], { cwd: "/" }],
      [true, [], {}],
    ];
    expect(await marks()).toEqual(settled);

    // The worker does so first when it finds the session ended after the commands.
    await saveMark(store.database, want.id, "w1", standing, 0, null);
    await beginExecute(store.database, want.id, "w1", 1);
    const checkpoints = createSessionCheckpoints({
      database: store.database,
      checkpointBytes: 1_000,
      look: { maxEntries: 10, maxMs: 1_000 },
      worker: "w1",
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const use = { rootId: want.id, program: { sandbox: {} } } as unknown as SessionUse;
    const session = { endedByCommand: true, state: { cwd: "/" } } as unknown as Session;
    const mark = { ...standing, position: 0, problem: null, settled: false, seal: "" };
    expect(await checkpoints.finish(use, session, mark, new AbortController())).toBeNull();
    expect(await marks()).toEqual(settled);
  });

  it("keeps at most two checkpoints, and never deletes the one before an open EXECUTE", async () => {
    const id = "chain";
    await claimSession(store.database, { id, kind: "jail", host: "h1", worker: "w1", leaseMs: 60_000 });
    const standing = { state: {}, instance: "i1", processes: [], manifest: Buffer.from("m") };
    const piece = (whole: boolean, name: string) => ({ whole, removed: [`gone-${name}`], tar: Buffer.from(name) });
    const chain = async (position: number) =>
      (await loadCheckpoints(store.database, id, position)).map(({ tar }) => String(tar));
    const { rows } = await store.database.calm.query<{ id: number }>("select max(id) + 1000 as id from activities");
    const activity = rows[0]?.id ?? 1000;
    expect(await saveMark(store.database, id, "w2", standing, 0, null)).toBeNull();
    await saveMark(store.database, id, "w1", standing, 0, null);
    expect(await beginExecute(store.database, id, "w2", activity)).toEqual({ kind: "lost" });
    expect(await beginExecute(store.database, id, "w1", activity)).toEqual({ kind: "begun" });
    await saveMark(store.database, id, "w1", standing, 1, piece(false, "one"));
    await beginExecute(store.database, id, "w1", activity + 1);
    await saveMark(store.database, id, "w1", standing, 2, piece(false, "two"));
    expect(await chain(2)).toEqual(["one", "two"]);
    expect(await chainOf(store.database, id, 2)).toEqual({ count: 2, bytes: 24 });
    await beginExecute(store.database, id, "w1", activity + 2);
    await saveMark(store.database, id, "w1", standing, 3, piece(true, "three"));
    expect([await chain(2), await chain(3)]).toEqual([["one", "two"], ["three"]]);
    const back = await saveRewound(store.database, id, "w1", "begun", { ...standing, instance: "i2" });
    expect([await chain(2), await chain(3)]).toEqual([
      ["one", "two"],
      ["one", "two"],
    ]);
    const claim = await claimSession(store.database, { id, kind: "jail", host: "h1", worker: "w1", leaseMs: 60_000 });
    expect(claim).toMatchObject({
      marks: {
        latest: { position: 2, settled: false, seal: back, instance: "i2" },
        begun: { position: 2, settled: true, seal: back, activityId: activity + 2 },
      },
    });
    const large = Buffer.alloc(20_000_000, "x");
    await saveMark(store.database, id, "w1", standing, 3, { whole: true, removed: [], tar: large });
    await beginExecute(store.database, id, "w1", activity + 3);
    const [last] = await loadCheckpoints(store.database, id, 3);
    expect(Buffer.from(last?.tar ?? []).equals(large)).toBe(true);
    const left = await store.database.calm.query("select position from checkpoints where session_id = $1", [id]);
    expect(left.rows).toEqual([{ position: 3 }]);
    // No run has this id.
    expect(await deleteEndedCheckpoints(store.database)).toBeGreaterThan(0);
    const after = await store.database.calm.query("select 1 from checkpoint_parts where session_id = $1", [id]);
    expect(after.rows).toEqual([]);
  });
});

it("a worker that is silent too long is removed, and its leases end", async () => {
  const { jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
  await beat(store.database, { id: "one", host: "h", info: { version: "1" } });
  await claimed(store, only(jobs));
  expect(await buryWorkers(store.database, 60_000)).toEqual([]);
  expect(await listWorkers(store.database)).toMatchObject([{ id: "one", alive: true }]);
  await store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '2 minutes'");
  expect(await listWorkers(store.database)).toMatchObject([{ id: "one", alive: false }]);
  expect(await buryWorkers(store.database, 60_000)).toEqual(["one"]);
  expect(await listWorkers(store.database)).toEqual([]);
  expect((await claimed(store, only(jobs))).interrupted).toBe(true);
});

it("one of two supervisors leads, and the other leads after it", async () => {
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

it("equal blobs are stored once", async () => {
  const bytes = Buffer.from([0, 1, 2, 255]);
  const hash = await saveBlob(store, bytes);
  expect(await saveBlob(store, bytes)).toBe(hash);
  expect(await loadBlob(store, hash)).toEqual(bytes);
  expect(await loadBlob(store, "none")).toBeNull();
});

it("old runs are deleted with all their rows, and running ones stay", async () => {
  const old = await createRun(store, { definition: definition({ main: chain(1) }) });
  await perform(store, only(old.jobs));
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

it("a restart of the database's connections loses no commit", async () => {
  const { runId, jobs } = await createRun(store, { definition: definition({ main: chain(30) }) });
  let next = jobs;
  for (let i = 0; i < 30; i++) {
    if (i % 10 === 5) {
      const killer = new pg.Client({ connectionString: database.url });
      await killer.connect();
      await killer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      await killer.end();
    }
    next = (await perform(store, only(next))).jobs;
  }
  expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 31 });
});
