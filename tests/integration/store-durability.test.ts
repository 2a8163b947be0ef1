// The store under silent connections, many processes on one run, cancelled activities and late holders.
import { connect, createServer, type Socket } from "node:net";
import type { Node } from "@markmill/engine";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  cancelRun,
  createRun,
  defaultTenant,
  deleteOrphans,
  enforceDeadlines,
  getBudget,
  getRun,
  loadBlob,
  oldestDue,
  openBudget,
  openStore,
  quietActivities,
  releaseClaims,
  releaseReservation,
  replayRun,
  reserve,
  type Store,
  saveBlob,
  saveCall,
  settleAbandoned,
  settleReservation,
  startCall,
} from "../support/store.ts";
import { chain, claimed, definition, oneCall, onePrompt, only, perform, program, succeeded } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let other: Store;

beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one" });
  other = await openStore({ url: database.url, worker: "two" });
});
afterAll(async () => {
  await store?.close();
  await other?.close();
  await database?.drop();
});

async function column<Value>(text: string, ...values: unknown[]): Promise<Value[]> {
  const { rows } = await store.database.calm.query<{ value: Value }>(`select ${text}`, values);
  return rows.map(({ value }) => value);
}

const end: Node = { kind: "end", outcome: "success" };

/** Prompts that start together; the run ends with the last one. */
function crowd(size: number) {
  const names = Array.from({ length: size }, (_, i) => `p${i}`);
  const nodes = Object.fromEntries(
    names.map((name): [string, Node] => [name, { kind: "prompt", text: { from: "literal", text: name }, agent: name }]),
  );
  return program(
    { ...nodes, all: { kind: "join", groups: { "": { mode: "all" } } }, end },
    [...names.map((from) => ({ from, to: "all", on: "ok" })), { from: "all", to: "end", on: "ok" }],
    { entry: names },
  );
}

const mapOf = (each: Extract<Node, { kind: "map" }>["each"]) =>
  program(
    {
      each: {
        kind: "map",
        over: { from: "literal", text: '["a","b","c"]' },
        each,
        concurrency: 3,
        itemError: "fail",
        minSuccess: 1,
      },
      end,
      after: { kind: "prompt", text: { from: "literal", text: "What now?" } },
    },
    [
      { from: "each", to: "end", on: "ok" },
      { from: "each", to: "after", on: "fail" },
      { from: "after", to: "end", on: "ok" },
    ],
  );

describe("a database connection that stops answering", () => {
  /** Forwards everything until `swallow`. Then existing connections carry no data, and new ones work. */
  async function openProxy(url: string) {
    const target = new URL(url);
    const directory = target.searchParams.get("host");
    const port = Number(target.searchParams.get("port") ?? (target.port || 5432));
    const silent = new Set<Socket>();
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = directory === null ? connect(port, target.hostname) : connect(`${directory}/.s.PGSQL.${port}`);
      sockets.add(client);
      client.on("data", (data) => upstream.write(data));
      upstream.on("data", (data) => silent.has(client) || client.write(data));
      client.on("close", () => upstream.destroy());
      upstream.on("close", () => silent.has(client) || client.destroy());
      for (const socket of [client, upstream]) socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    target.search = "";
    target.hostname = "127.0.0.1";
    target.port = String(address.port);
    return {
      url: target.href,
      swallow: () => {
        for (const socket of sockets) silent.add(socket);
      },
      close: () => {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    };
  }

  it("does not block a commit, which is sent again and found as done, and a read fails as transient", async () => {
    const proxy = await openProxy(database.url);
    const behind = await openStore({ url: proxy.url, worker: "behind", queryTimeoutMs: 500 });
    const { runId, jobs } = await createRun(behind, { definition: definition({ main: chain(2) }) });
    const claim = await claimed(behind, only(jobs));
    proxy.swallow();
    const event = succeeded(behind, claim, { kind: "done" });
    const committed = await behind.commit({ run: claim.run, source: claim.activity, event });
    expect(committed.kind).toBe("dropped");
    expect(only(committed.jobs)).toMatchObject({ runId });
    expect(await getRun(store.database, runId)).toMatchObject({ rev: 2 });
    await getRun(behind.database, runId);
    proxy.swallow();
    await expect(getRun(behind.database, runId)).rejects.toMatchObject({ code: "STORE_UNREACHABLE", transient: true });
    await behind.close();
    proxy.close();
  });
});

describe("many processes that write to one run", () => {
  it("all finish their writes", async () => {
    const size = 120;
    const stores = await Promise.all(
      Array.from({ length: 6 }, (_, i) => openStore({ url: database.url, worker: `many-${i}`, migrate: false })),
    );
    const { runId, jobs } = await createRun(store, { definition: definition({ main: crowd(size) }) });
    expect(jobs).toHaveLength(size);
    const claims = await Promise.all(
      jobs.map(async (job, i) => {
        const by = stores[i % stores.length] ?? store;
        return { by, claim: await claimed(by, job) };
      }),
    );
    const all = await Promise.all(
      claims.map(({ by, claim }) =>
        by.commit({
          run: claim.run,
          source: claim.activity,
          event: succeeded(by, claim, { kind: "replied", text: claim.activity.ref.node }),
        }),
      ),
    );
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(["committed"]));
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: size + 1 });
    expect((await replayRun(store.database, store.definitions, runId)).differences).toEqual([]);
    await Promise.all(stores.map((one) => one.close()));
  });
});

describe("cancelled items of a map", () => {
  const failing = (by: Store, { activity }: Awaited<ReturnType<typeof claimed>>) => ({
    type: "activity.failed" as const,
    at: by.clock.now(),
    seed: 1,
    epoch: activity.epoch,
    activity: activity.ref,
    failure: { code: "MODEL_BROKEN", message: "no" },
    next: "fail" as const,
    retryAfterMs: null,
    usage: null,
  });

  it("are void after one item failed, their results are dropped, and the run continues", async () => {
    const main = mapOf({ kind: "prompt", text: { from: "literal", text: "Mark it." } });
    const { runId, jobs } = await createRun(store, { definition: definition({ main }) });
    const [one, two, three] = await Promise.all(jobs.map((job) => claimed(store, job)));
    if (one === undefined || two === undefined || three === undefined) throw new Error("three items expected");
    const failed = await store.commit({ run: one.run, source: one.activity, event: failing(store, one) });
    expect(only(failed.jobs)).toMatchObject({ runId, queue: "prompt" });
    expect(await column("state as value from activities where run_id = $1 order by id", runId)).toEqual([
      "done",
      "void",
      "void",
      "ready",
    ]);
    const late = await other.commit({
      run: two.run,
      source: two.activity,
      event: succeeded(other, two, { kind: "replied", text: "late" }),
    });
    expect(late).toMatchObject({ kind: "dropped", jobs: [{ activityId: only(failed.jobs).activityId }] });
    expect((await quietActivities(store.database, 0)).map(({ activityId }) => activityId)).not.toContain(
      three.activity.id,
    );
    await perform(store, only(failed.jobs), { kind: "replied", text: "went on" });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", epoch: 1 });
    expect((await replayRun(store.database, store.definitions, runId)).differences).toEqual([]);
  });

  it("cancel the runs that they called, and no others", async () => {
    const called = definition({ main: mapOf({ kind: "call", program: "callee" }), callee: onePrompt });
    const { runId, jobs } = await createRun(store, { definition: called });
    const calls = await Promise.all(jobs.map((job) => claimed(store, job)));
    const starts = await Promise.all(calls.map((call) => startCall(store, call.run, call.activity, null)));
    const child = await claimed(store, only(starts[0]?.jobs ?? []));
    const ended = await store.commit({ run: child.run, source: child.activity, event: failing(store, child) });
    const back = await claimed(store, only(ended.jobs));
    expect(back.activity.outcome).toMatchObject({ kind: "returned", status: "failed" });
    await store.commit({ run: back.run, source: back.activity, event: failing(store, back) });
    expect(await column("status as value from runs where root_id = $1 and id <> $1 order by status", runId)).toEqual([
      "cancelled",
      "cancelled",
      "failed",
    ]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "doing" });
  });

  it("do not deadlock with the end of a called run", async () => {
    const alone = await freshDatabase();
    const admin = new pg.Client({ connectionString: alone.url });
    await admin.connect();
    // Postgres breaks a deadlock after this time, and one of the two is repeated. If we may not set it, the server's own time applies.
    await admin.query(`alter database "${alone.name}" set deadlock_timeout = '100ms'`).catch(() => undefined);
    const [ending, cancelling] = await Promise.all(
      ["ending", "cancelling"].map((worker) => openStore({ url: alone.url, worker })),
    );
    if (ending === undefined || cancelling === undefined) throw new Error("no stores");
    // Between two rows that one statement locks, the other statement has time to lock one of them.
    await admin.query(`create function dawdle() returns trigger language plpgsql as
      'begin perform pg_sleep(0.02); return new; end'`);
    for (const table of ["runs", "activities"])
      await admin.query(`create trigger dawdles before update on ${table} for each row execute function dawdle()`);
    for (let i = 0; i < 15; i++) {
      const { runId, jobs } = await createRun(ending, { definition: definition({ main: oneCall, callee: chain(1) }) });
      const call = await claimed(ending, only(jobs));
      const start = await startCall(ending, call.run, call.activity, null);
      const leaf = await claimed(ending, only(start.jobs));
      const event = succeeded(ending, leaf, { kind: "done" });
      await Promise.all([
        cancelRun(cancelling, runId, "enough"),
        ending.commit({ run: leaf.run, source: leaf.activity, event }),
      ]);
      expect(await getRun(ending.database, runId)).toMatchObject({ status: "cancelled" });
    }
    for (const one of [ending, cancelling]) await one.close();
    // A connection publishes its statistics at its end at the latest.
    const others = "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    await expect.poll(async () => (await admin.query(others)).rowCount).toBe(0);
    const counted = "select deadlocks::integer from pg_stat_database where datname = current_database()";
    expect((await admin.query(counted)).rows).toEqual([{ deadlocks: 0 }]);
    await admin.end();
    await alone.drop();
  });

  it("enqueue nothing if the run is stopped", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const found = async () =>
      (await quietActivities(store.database, 0)).some(({ activityId }) => activityId === only(jobs).activityId);
    expect(await found()).toBe(true);
    await store.database.calm.query("update runs set status = 'stopped' where id = $1", [runId]);
    expect(await found()).toBe(false);
  });
});

describe("reservations of activities", () => {
  const want = { nanodollars: 60, tokens: 6 };

  it("are not changed by a late release, booking or reply of an old holder", async () => {
    await openBudget(store.database, "fenced", { nanodollars: 1_000, tokens: null });
    const old = { activityId: 90_001, callIndex: 0, claim: 1 };
    const now = { ...old, claim: 2 };
    await reserve(store.database, old, ["fenced"], want);
    await settleReservation(store.database, now, "reserved");
    await reserve(store.database, now, ["fenced"], want);
    const held = { reserved: want, spent: want };
    expect(await getBudget(store.database, "fenced")).toMatchObject(held);
    await releaseReservation(store.database, old);
    await settleReservation(store.database, old, { nanodollars: 1, tokens: 1 });
    const reply = {
      model: "m",
      request: null,
      reply: {},
      usage: { promptTokens: 1, completionTokens: 1, characters: 1, nanodollars: 5 },
    };
    const run = { id: "r", rootId: "r", tenant: defaultTenant };
    await saveCall(store.database, run, { ...reply, key: { ...old, requestHash: "h" } });
    expect(await getBudget(store.database, "fenced")).toMatchObject(held);
    // The new holder's reply comes second. Its call was paid all the same.
    await saveCall(store.database, run, { ...reply, key: { ...now, requestHash: "h" } });
    expect(await getBudget(store.database, "fenced")).toMatchObject({
      reserved: { nanodollars: 0, tokens: 0 },
      spent: { nanodollars: 65, tokens: 8 },
    });
  });

  it("count as spent if the activity has ended or is deleted, and stay if it is open", async () => {
    await openBudget(store.database, "batch", { nanodollars: 1_000, tokens: null });
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main: onePrompt }),
      budgets: ["batch"],
    });
    const cancelled = await claimed(store, only(jobs));
    const open = only((await createRun(store, { definition: definition({ main: onePrompt }) })).jobs);
    for (const activityId of [cancelled.activity.id, open.activityId, 90_002]) {
      await reserve(store.database, { activityId, callIndex: 0, claim: 1 }, ["batch"], want);
      await reserve(store.database, { activityId, callIndex: 1, claim: 1 }, ["batch"], want);
    }
    await cancelRun(store, runId, "enough");
    expect(await settleAbandoned(store.database, 60_000)).toBe(0);
    await store.database.calm.query("update reservations set created_at = created_at - interval '2 minutes'");
    await settleAbandoned(store.database, 60_000);
    expect(await getBudget(store.database, "batch")).toMatchObject({
      reserved: { nanodollars: 120, tokens: 12 },
      spent: { nanodollars: 240, tokens: 24 },
    });
    expect(await settleAbandoned(store.database, 60_000)).toBe(0);
  });
});

describe("an activity that is claimed ahead", () => {
  const say = (text: string): Node => ({ kind: "prompt", text: { from: "literal", text } });
  const two = program({ first: say("One?"), second: say("Two?"), end }, [
    { from: "first", to: "second", on: "ok" },
    { from: "second", to: "end", on: "ok" },
  ]);
  const replied = { kind: "replied", text: "Yes." } as const;

  async function claimAhead(by: Store, main = two, queue: "prompt" | "execute" = "prompt") {
    const { jobs } = await createRun(store, { definition: definition({ main }) });
    const claim = await claimed(by, only(jobs));
    const event = succeeded(by, claim, replied);
    const committed = await by.commit({ run: claim.run, source: claim.activity, event, claimsAhead: queue });
    if (committed.kind !== "committed") throw new Error("a commit expected");
    return { ...committed, ahead: committed.claimedAhead?.claimed ?? null };
  }

  it("is claimed by the commit, under a lease, and equals the result of a claim", async () => {
    const committed = await claimAhead(store);
    const job = only(committed.jobs);
    const { ahead } = committed;
    expect(ahead).toMatchObject({
      kind: "claimed",
      interrupted: false,
      takeovers: 0,
      activity: { id: job.activityId, claim: 1, leased: true, unasked: true, work: { kind: "prompt", text: "Two?" } },
    });
    expect(await other.claim(job)).toMatchObject({ kind: "held" });
    const [row] = await column<Record<string, unknown>>(
      `to_json(a) as value from activities a where a.id = $1`,
      job.activityId,
    );
    expect(row).toMatchObject({ state: "claimed", claim: 1, claimed_by: "one", takeovers: 0 });
    if (ahead === null) throw new Error("a claim expected");
    expect(Math.abs(ahead.activity.askedAt - store.clock.now())).toBeLessThan(60_000);
    const event = succeeded(store, ahead, replied);
    expect(await store.commit({ run: ahead.run, source: ahead.activity, event })).toMatchObject({
      kind: "committed",
      run: { state: { phase: { is: "ended", status: "success" } } },
    });
  });

  it("is performed with the text of its row, so that a repetition makes the same request", async () => {
    const each: Node = {
      kind: "map",
      over: { from: "literal", text: '["a\\u0000b\\ud800"]' },
      concurrency: 1,
      itemError: "fail",
      minSuccess: 1,
      each: { kind: "prompt", text: { from: "read", name: "item" } },
    } as Node;
    const mapped = program({ first: say("One?"), each, end }, [
      { from: "first", to: "each", on: "ok" },
      { from: "each", to: "end", on: "ok" },
    ]);
    const { ahead, jobs } = await claimAhead(store, mapped);
    const [row] = await column<unknown>("a.work as value from activities a where a.id = $1", only(jobs).activityId);
    expect(JSON.stringify(row)).toContain("a\ufffdb\ufffd");
    expect(ahead?.activity.work).toEqual(row);
  });

  it("can be claimed by any worker after its release and after its lease", async () => {
    const released = await claimAhead(store);
    await releaseClaims(store.database, [released.ahead?.activity ?? { id: 0, claim: 0 }]);
    const next = await claimed(other, only(released.jobs));
    expect(next).toMatchObject({ interrupted: false, activity: { claim: 2 } });
    const left = await claimAhead(store);
    const job = only(left.jobs);
    await store.database.calm.query("update activities set lease_until = now() - interval '1 hour' where id = $1", [
      job.activityId,
    ]);
    expect((await quietActivities(store.database, 0)).map(({ activityId }) => activityId)).toContain(job.activityId);
    const taken = await claimed(other, job);
    expect(taken).toMatchObject({ interrupted: true, activity: { claim: 2 } });
    // The former holder cannot commit it any more.
    if (left.ahead === null) throw new Error("a claim expected");
    const event = succeeded(store, left.ahead, replied);
    expect(await store.commit({ run: left.ahead.run, source: left.ahead.activity, event })).toMatchObject({
      kind: "dropped",
    });
  });

  it("is in the same queue and safe to repeat", async () => {
    const acting = program(
      { first: say("One?"), act: { kind: "execute", command: "true", nonZero: "fail", repeat: "never" }, end },
      [
        { from: "first", to: "act", on: "ok" },
        { from: "act", to: "end", on: "ok" },
      ],
    );
    for (const queue of ["prompt", "execute"] as const) {
      const { ahead, jobs } = await claimAhead(store, acting, queue);
      expect(ahead).toBeNull();
      expect(await other.claim(only(jobs))).toMatchObject({ kind: "claimed" });
    }
    expect((await claimAhead(store, two, "execute")).claimedAhead).toBeNull();
  });
});

describe("a claim of activities", () => {
  it("does not fail because of an unreadable run in the same statement", async () => {
    const [bad, good] = await Promise.all([
      createRun(store, { definition: definition({ main: onePrompt }) }),
      createRun(store, { definition: definition({ main: onePrompt }) }),
    ]);
    await store.database.calm.query("update runs set program = 'gone' where id = $1", [bad.runId]);
    const [first, second] = await Promise.allSettled([other.claim(only(bad.jobs)), other.claim(only(good.jobs))]);
    expect(first).toMatchObject({ status: "rejected", reason: { code: "STORE_NOT_FOUND" } });
    expect(second).toMatchObject({ status: "fulfilled", value: { kind: "claimed" } });
  });

  it("counts the workers that were lost with the delivery of a pure activity", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: chain(2) }) });
    const job = only(jobs);
    expect(await store.claim(job)).toMatchObject({ kind: "claimed", takeovers: 0 });
    expect(await store.claim({ ...job, stalled: 5 })).toMatchObject({ kind: "claimed", takeovers: 5 });
    expect(await other.claim({ ...job, stalled: 5 })).toMatchObject({ kind: "claimed", takeovers: 5 });
  });

  it("enqueues a bounded number of ready activities if it is too late", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: crowd(150) }) });
    const [first] = jobs;
    if (first === undefined) throw new Error("a job expected");
    await perform(store, first, { kind: "replied", text: "x" });
    const late = await other.claim(first);
    expect(late.kind === "stale" && late.jobs.length).toBe(100);
  });
});

it("definitions in use stay in memory when others are loaded after them", async () => {
  const all = Array.from({ length: 502 }, () => definition({ main: onePrompt }));
  for (const one of all) await store.definitions.save(defaultTenant, one);
  const [first = { tenant: defaultTenant, hash: "" }, ...rest] = all.map(({ hash }) => ({
    tenant: defaultTenant,
    hash,
  }));
  await other.definitions.ensure([first]);
  await other.definitions.ensure(rest.slice(0, 499));
  await other.definitions.ensure([first, ...rest.slice(499)]);
  expect(other.definitions.program(first, "main")).toEqual(onePrompt);
});

it("a call is due since the end of its callee, not since its own creation", async () => {
  const own = await freshDatabase();
  const alone = await openStore({ url: own.url });
  const { jobs } = await createRun(alone, { definition: definition({ main: oneCall, callee: chain(1) }) });
  const call = await claimed(alone, only(jobs));
  const start = await startCall(alone, call.run, call.activity, null);
  await alone.database.calm.query("update activities set created_at = created_at - interval '1 hour'");
  await alone.database.calm.query(
    `update runs set inline = replace(inline::text, '"at":', '"at":-')::json, started_at = started_at - interval '1 hour'
     where inline is not null`,
  );
  expect(await oldestDue(alone.database, ["control"])).toBeGreaterThan(3_000_000);
  await perform(alone, only(start.jobs));
  expect(await oldestDue(alone.database, ["control"])).toBeLessThan(3_000_000);
  await alone.close();
  await own.drop();
});

it("a deadline stays if its event was dropped", async () => {
  const main = program(
    {
      say: { kind: "prompt", text: { from: "literal", text: "Hello" } },
      sorry: { kind: "prompt", text: { from: "literal", text: "Sorry" } },
      end,
    },
    [{ from: "say", to: "end", on: "ok" }],
    { handlers: { success: null, failed: "sorry" } },
  );
  const { runId } = await createRun(store, { definition: definition({ main }), caps: { timeMs: 1 } });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await enforceDeadlines(store);
  expect(await getRun(store.database, runId)).toMatchObject({ status: "doing", phase: "handling.failed" });
  // The handler's time is over by this row, and not by its own state. The event is dropped, and the deadline stays for the next check.
  await store.database.calm.query(
    `update runs set deadline = clock_timestamp() - interval '1 second',
       kept = (kept::jsonb || jsonb_build_object('phase', (kept::jsonb -> 'phase') || '{"until": 9e15}'))::json where id = $1`,
    [runId],
  );
  await enforceDeadlines(other);
  expect(await column("deadline is not null as value from runs where id = $1", runId)).toEqual([true]);
  await cancelRun(store, runId, "enough");
});

it("old orphans are deleted: blobs without a reference, and budgets of runs that were never created", async () => {
  const named = await saveBlob(store, Buffer.from("named"));
  const scripted = await saveBlob(store, Buffer.from("script"));
  const orphan = await saveBlob(store, Buffer.from("orphan"));
  await createRun(store, {
    definition: definition({ main: onePrompt }),
    submission: { blob: named },
    options: { script: { blob: scripted } },
  });
  await openBudget(store.database, "unborn", { nanodollars: 1, tokens: null }, "run");
  await openBudget(store.database, "next-week", { nanodollars: 1, tokens: null });
  expect(await deleteOrphans(store, 86_400_000)).toBe(0);
  for (const table of ["blobs", "budgets"]) {
    await store.database.calm.query(`update ${table} set created_at = created_at - interval '2 days'`);
  }
  expect(await saveBlob(store, Buffer.from("orphan"))).toBe(orphan);
  await deleteOrphans(store, 86_400_000);
  expect(await loadBlob(store, orphan)).not.toBeNull();
  await store.database.calm.query("update blobs set created_at = created_at - interval '2 days'");
  await deleteOrphans(store, 86_400_000);
  expect(await loadBlob(store, orphan)).toBeNull();
  expect(await loadBlob(store, named)).not.toBeNull();
  expect(await loadBlob(store, scripted)).not.toBeNull();
  expect(await getBudget(store.database, "unborn")).toBeNull();
  expect(await getBudget(store.database, "next-week")).not.toBeNull();
});
