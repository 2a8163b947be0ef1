// Activities that stand on their run's row: what becomes of them when jobs, processes and runs are lost, stopped or repeated.

import type { JobSpec } from "@markmill/engine";
import { type Event, initialState, type Node, type RunStarted, step } from "@markmill/engine";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readMigrations } from "../../packages/store/src/database/migrate.ts";
import { freshDatabase, migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  type Claim,
  cancelRun,
  createRun,
  deleteOldRuns,
  enforceDeadlines,
  enqueueAgain,
  getHistory,
  getRun,
  leaveQuiet,
  listRuns,
  migrate,
  oldestDue,
  openStore,
  quietActivities,
  readyJobs,
  replayRun,
  resumeRun,
  type Store,
  startCall,
  stopRun,
} from "../support/store.ts";
import { chain, claimed, definition, oneCall, only, perform, program, succeeded } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
/** A second process: nothing in common with the first but the database. */
let other: Store;

beforeAll(async () => {
  database = await migratedDatabase();
  // Runs of a thousand nodes are written here: on a busy machine that may take longer than the usual patience with a query.
  const patient = { url: database.url, queryTimeoutMs: 120_000 };
  store = await openStore({ ...patient, worker: "one" });
  other = await openStore({ ...patient, worker: "two" });
});
afterAll(async () => {
  await store?.close();
  await other?.close();
  await database?.drop();
});

type Claimed = Extract<Claim, { kind: "claimed" }>;

const end: Node = { kind: "end", outcome: "success" };
const assign = (text: string): Node => ({ kind: "assign", value: { from: "literal", text } });
const set = (name: string, text: string): Node => ({
  kind: "set",
  target: { to: "variable", name },
  value: { from: "literal", text },
});

/** Branches of two assignments each, which start together; the run ends with the last. */
function branches(size: number) {
  const names = Array.from({ length: size }, (_, i) => `b${i}`);
  return program(
    {
      ...Object.fromEntries(
        names.flatMap((name) => [
          [name, set(name, "first")],
          [`${name}x`, set(name, "second")],
        ]),
      ),
      all: { kind: "join", groups: { "": { mode: "all" } } },
      end,
    },
    [
      ...names.flatMap((name) => [
        { from: name, to: `${name}x`, on: "ok" },
        { from: `${name}x`, to: "all", on: "ok" },
      ]),
      { from: "all", to: "end", on: "ok" },
    ],
    { entry: names },
  );
}

async function rowOf(runId: string): Promise<Record<string, unknown>> {
  const { rows } = await store.database.calm.query("select * from runs where id = $1", [runId]);
  return rows[0] ?? {};
}
async function replaysExactly(runId: string): Promise<void> {
  const { differences } = await replayRun(store.database, store.definitions, runId);
  expect(differences).toEqual([]);
}
/** Performs whatever there is until nothing is enqueued any more. */
async function finish(by: Store, jobs: readonly JobSpec[]): Promise<void> {
  for (let next = [...jobs]; next.length > 0; ) {
    const [job, ...rest] = next;
    next = job === undefined ? rest : [...rest, ...(await perform(by, job)).jobs];
  }
}
function two(jobs: readonly JobSpec[]): readonly [JobSpec, JobSpec] {
  const [one, another, ...more] = jobs;
  if (one === undefined || another === undefined || more.length > 0)
    throw new Error(`two, not ${jobs.length} enqueues`);
  return [one, another];
}
const failing = (by: Store, { activity }: Claimed, next: "retry" | "fail"): Event => ({
  type: "activity.failed",
  at: by.clock.now(),
  seed: 1,
  epoch: activity.epoch,
  activity: activity.ref,
  failure: { code: "WORKER_LOST", message: "gone" },
  next,
  retryAfterMs: null,
  usage: null,
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a run that is stopped with inline activities open", () => {
  it("enqueues nothing and hands out nothing, and asks for all of them again when it is resumed", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const [left, right] = two(jobs);
    const held = await claimed(store, left);
    await stopRun(other, runId);
    const { epoch } = (await getRun(store.database, runId)) ?? {};
    expect(await readyJobs(store.database.calm, [runId])).toEqual([]);
    expect((await quietActivities(store.database, 0)).filter((quiet) => quiet.runId === runId)).toEqual([]);
    for (const job of [left, right, { ...left, epoch: epoch ?? 0 }]) {
      expect(await other.claim(job)).toEqual({ kind: "stale", jobs: [] });
    }
    const late = await store.commit({
      ...{ run: held.run, source: held.activity },
      event: succeeded(store, held, { kind: "done" }),
    });
    expect(late).toEqual({ kind: "dropped", jobs: [] });
    const { activities } = await getHistory(store.database, runId);
    expect(activities.map(({ node, state }) => [node, state])).toEqual([
      ["b0", "void"],
      ["b1", "void"],
    ]);

    const again = await resumeRun(store, runId);
    expect(again.jobs.map(({ attempt }) => attempt)).toEqual([2, 2]);
    expect(new Set([...jobs, ...again.jobs].map(({ activityId }) => activityId)).size).toBe(4);
    await finish(other, again.jobs);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 7 });
    expect(await rowOf(runId)).toMatchObject({ inline: null });
    await replaysExactly(runId);
  });

  it("twice is resumed twice, beside an activity that has a row", async () => {
    const main = program(
      {
        say: { kind: "prompt", text: { from: "literal", text: "Hello" } },
        note: set("NOTE", "kept"),
        both: { kind: "join", groups: { "": { mode: "all" } } },
        end,
      },
      [
        { from: "say", to: "both", on: "ok" },
        { from: "note", to: "both", on: "ok" },
        { from: "both", to: "end", on: "ok" },
      ],
      { entry: ["say", "note"] },
    );
    const { runId } = await createRun(store, { definition: definition({ main }) });
    let jobs: readonly JobSpec[] = [];
    for (const by of [store, other]) {
      await stopRun(by, runId);
      jobs = (await resumeRun(by, runId)).jobs;
      expect(jobs.map(({ queue }) => queue).sort()).toEqual(["control", "prompt"]);
    }
    for (const job of jobs) {
      await perform(other, job, job.queue === "prompt" ? { kind: "replied", text: "Hi" } : { kind: "done" });
    }
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", variables: { NOTE: "kept" } });
    await replaysExactly(runId);
  });

  it("can be cancelled, and nothing of it stays open", async () => {
    const { runId } = await createRun(store, { definition: definition({ main: branches(2) }) });
    await stopRun(store, runId);
    await cancelRun(other, runId, "enough");
    expect(await rowOf(runId)).toMatchObject({ status: "cancelled", inline: null });
    expect((await resumeRun(store, runId)).jobs).toEqual([]);
  });
});

describe("a run that ends or turns to a handler with inline activities open", () => {
  it("drops their results after a cancellation elsewhere, though this process still remembers them as open", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const held = await Promise.all(jobs.map((job) => claimed(store, job)));
    await cancelRun(other, runId, "enough");
    for (const claim of held) {
      const event = succeeded(store, claim, { kind: "done" });
      const late = await store.commit({ run: claim.run, source: claim.activity, event });
      expect(late).toEqual({ kind: "dropped", jobs: [] });
    }
    expect(await rowOf(runId)).toMatchObject({ status: "cancelled", inline: null, rev: 2 });
    await replaysExactly(runId);
  });

  it("is read anew by who made it, and does not stay in the memory of a process that only makes runs", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    await cancelRun(other, runId, "enough");
    expect(await store.claim(two(jobs)[0])).toEqual({ kind: "stale", jobs: [] });
  });

  it("drops them at its deadline, does the handler's, and forgets the deadline at the end", async () => {
    const main = { ...branches(2), handlers: { success: null, failed: "sorry" } };
    const handled = { ...main, nodes: { ...main.nodes, sorry: set("SORRY", "yes") } };
    const { runId, jobs } = await createRun(store, { definition: definition({ main: handled }), caps: { timeMs: 1 } });
    const late = await claimed(store, two(jobs)[0]);
    await pause(20);
    const next = (await enforceDeadlines(other)).filter((job) => job.runId === runId);
    const event = succeeded(store, late, { kind: "done" });
    expect(await store.commit({ run: late.run, source: late.activity, event })).toMatchObject({
      kind: "dropped",
      jobs: [{ activityId: only(next).activityId }],
    });
    await finish(store, next);
    expect(await getRun(store.database, runId)).toMatchObject({
      ...{ status: "failed", reason: { code: "LIMIT_TIME" }, deadline: null, variables: { SORRY: "yes" } },
    });
    await replaysExactly(runId);
  });
});

describe("an inline activity that failed in passing", () => {
  it("is asked again under a new id; its old job is told the new one", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const [left, right] = two(jobs);
    const claim = await claimed(store, left);
    const failed = await store.commit({
      ...{ run: claim.run, source: claim.activity },
      event: failing(store, claim, "retry"),
    });
    const again = only(failed.jobs);
    expect(again).toMatchObject({ attempt: 2, queue: "control" });
    expect(again.activityId).not.toBe(left.activityId);
    const stale = await other.claim(left);
    expect(stale.kind === "stale" && stale.jobs.map(({ activityId }) => activityId).sort()).toEqual(
      [right.activityId, again.activityId].sort(),
    );
    await finish(other, [again, right]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success" });
    const { activities } = await getHistory(store.database, runId);
    expect(
      activities.filter(({ node }) => node === "b0").map(({ attempt, state, seq }) => [attempt, state, seq]),
    ).toEqual([
      [1, "done", 2],
      [2, "done", 3],
    ]);
    await replaysExactly(runId);
  });
});

describe("several inline activities of one run", () => {
  it("that end at the same rev in two processes both count", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const [left, right] = two(jobs);
    const one = await claimed(store, left);
    const another = await claimed(other, right);
    expect(one.run.rev).toBe(another.run.rev);
    const both = await Promise.all([
      store.commit({ run: one.run, source: one.activity, event: succeeded(store, one, { kind: "done" }) }),
      other.commit({ run: another.run, source: another.activity, event: succeeded(other, another, { kind: "done" }) }),
    ]);
    expect(both.map(({ kind }) => kind)).toEqual(["committed", "committed"]);
    await finish(
      store,
      both.flatMap((committed) => committed.jobs),
    );
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 5 });
    await replaysExactly(runId);
  });

  it("one whose job was lost is found though another branch goes on, and is enqueued alone", async () => {
    const quietMs = 2_000;
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const [left, right] = two(jobs);
    const mine = async () => (await quietActivities(store.database, quietMs)).filter((one) => one.runId === runId);
    expect(await mine()).toEqual([]);
    await pause(quietMs + 100);
    const next = only((await perform(store, left)).jobs);
    const quiet = await mine();
    expect(quiet.map(({ activityId }) => activityId)).toEqual([right.activityId, next.activityId]);

    const lost = quiet.filter(({ activityId }) => activityId === right.activityId);
    await leaveQuiet(store.database, quiet.slice(1));
    expect(await mine()).toEqual([]);
    const again = await enqueueAgain(other.database, lost);
    expect(again).toMatchObject([{ activityId: right.activityId, enqueues: right.enqueues + 1 }]);
    expect(await enqueueAgain(store.database, lost)).toEqual([]);
    expect(await mine()).toEqual([]);
    // The first process knows nothing of the new count; nothing depends on it.
    await finish(store, [next, ...again]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 5 });
  });

  it("have ids of their own, more than a block holds and from two processes", async () => {
    const size = 1_100;
    const names = Array.from({ length: size }, (_, i) => `n${i}`);
    const main = program(Object.fromEntries(names.map((name) => [name, assign(name)])), [], { entry: names });
    const made = await Promise.all([store, other].map((by) => createRun(by, { definition: definition({ main }) })));
    const ids = made.flatMap(({ jobs }) => jobs.map(({ activityId }) => activityId));
    expect(ids).toHaveLength(2 * size);
    expect(new Set(ids).size).toBe(2 * size);
  });
});

describe("a called run", () => {
  it("that ends as it is born leaves its caller ready, once", async () => {
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main: oneCall, callee: program({ end }, []) }),
    });
    const call = await claimed(store, only(jobs));
    const both = await Promise.all([
      startCall(store, call.run, call.activity, "job"),
      startCall(other, call.run, call.activity, "job"),
    ]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(["committed", "dropped"]);
    const back = only(both.find(({ kind }) => kind === "committed")?.jobs ?? []);
    expect(back).toMatchObject({ runId, activityId: call.activity.id, enqueues: call.activity.enqueues + 1 });
    const returned = await claimed(other, back);
    expect(returned.activity.outcome).toMatchObject({ kind: "returned", status: "success" });
    await perform(other, back, returned.activity.outcome ?? { kind: "done" });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success" });
    await replaysExactly(runId);
  });

  it("of inline activities alone is told again to a second delivery of its call, and its end enqueues the caller", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: oneCall, callee: chain(2) }) });
    const call = await claimed(store, only(jobs));
    const first = only((await startCall(store, call.run, call.activity, null)).jobs);
    expect(await other.claim(only(jobs))).toEqual({ kind: "stale", jobs: [first] });
    const second = only((await perform(other, first)).jobs);
    expect(await other.claim(only(jobs))).toEqual({ kind: "stale", jobs: [second] });
    const back = only((await perform(store, second)).jobs);
    const returned = await claimed(other, back);
    await perform(other, back, returned.activity.outcome ?? { kind: "done" });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "step 1" });
  });

  it("is cancelled with its stopped caller, its inline activities with it", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: oneCall, callee: chain(2) }) });
    const call = await claimed(store, only(jobs));
    const callee = only((await startCall(store, call.run, call.activity, null)).jobs);
    await stopRun(other, runId);
    expect(await rowOf(callee.runId)).toMatchObject({ status: "cancelled", inline: null });
    expect((await perform(store, callee)).kind).toBe("dropped");
    const again = await claimed(store, only((await resumeRun(other, runId)).jobs));
    expect((await startCall(store, again.run, again.activity, null)).kind).toBe("committed");
  });
});

describe("what is written", () => {
  it("is what it was, whatever stands in texts, names and ids", async () => {
    const hostile = "a\u001eb\0c\ud800d\"e\\f'g,{h}\u2028NULL";
    const kept = "a\u001eb\ufffdc\ufffdd\"e\\f'g,{h}\u2028NULL";
    const ids = ["NULL", 'quote" \\ { , }', "it's\u001e\n", "", "ü😀"].map((id) => `${id}-${Math.random()}`);
    const main = program(
      { "n\u001e\"'": set('V"\u001e', hostile.replace("\0", "").replace("\ud800", "")), check: assign("x"), end },
      [
        { from: "n\u001e\"'", to: "check", on: "ok" },
        { from: "check", to: "end", on: "ok" },
      ],
    );
    const one = definition({ main });
    const made = await Promise.all(
      ids.map((id) => createRun(store, { id, definition: one, variables: { ESSAY: hostile, "K\u001e": "\u001e" } })),
    );
    const next = await Promise.all(made.map(({ jobs }) => perform(store, only(jobs))));
    await Promise.all(next.map(({ jobs }) => perform(other, only(jobs))));
    for (const id of ids) {
      const run = await getRun(store.database, id);
      expect(run).toMatchObject({ id, status: "success", result: "x", rev: 3 });
      expect(run?.variables).toMatchObject({ ESSAY: kept, "K\u001e": "\u001e" });
      expect(run?.variables['V"\u001e']).toBe(kept.replaceAll("\ufffd", ""));
      await replaysExactly(id);
    }
  });

  it("seldom is not lost by what is written with it for other runs, nor taken for theirs", async () => {
    const usage = { calls: 2, promptTokens: 30, completionTokens: 4, characters: 9, nanodollars: 700 };
    const main = program(
      { say: { kind: "prompt", text: { from: "literal", text: "?" } }, a: assign("a"), b: assign("b"), end },
      [
        { from: "say", to: "a", on: "ok" },
        { from: "a", to: "b", on: "ok" },
        { from: "b", to: "end", on: "ok" },
      ],
    );
    const paid = await createRun(store, { definition: definition({ main }), caps: { timeMs: 600_000 } });
    const plain = await createRun(store, { definition: definition({ main: chain(2) }), caps: { timeMs: 600_000 } });
    const short = await createRun(store, { definition: definition({ main: chain(1) }) });
    const claim = await claimed(store, only(paid.jobs));
    const event = { ...succeeded(store, claim, { kind: "replied", text: "!" }), usage } as Event;
    // One pays, one ends, one does neither, in one statement.
    const [first, second] = await Promise.all([
      store.commit({ run: claim.run, source: claim.activity, event }),
      perform(store, only(plain.jobs)),
      perform(store, only(short.jobs)),
    ]);
    // What the events add up to; what people are shown is summed from the account of requests.
    const told = async (runId: string) =>
      (await store.database.calm.query("select kept::json -> 'spent' as spent from runs where id = $1", [runId]))
        .rows[0]?.spent;
    const spent = { calls: 2, promptTokens: 30, completionTokens: 4, nanodollars: 700 };
    expect(await told(paid.runId)).toMatchObject(spent);
    expect(await getRun(store.database, paid.runId)).toMatchObject({ status: "doing", result: null });
    expect((await getRun(store.database, paid.runId))?.deadline).not.toBeNull();
    expect(await told(plain.runId)).toMatchObject({ calls: 0 });
    expect(await getRun(store.database, plain.runId)).toMatchObject({ spent: { calls: 0 }, word: null, result: null });
    expect((await getRun(store.database, plain.runId))?.deadline).not.toBeNull();
    expect(await getRun(store.database, short.runId)).toMatchObject({ status: "success", result: "step 0" });
    await Promise.all([finish(store, first.jobs), finish(store, second.jobs)]);
    for (const [runId, result] of [
      [paid.runId, "b"],
      [plain.runId, "step 1"],
    ] as const) {
      expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result, deadline: null });
    }
    expect(await told(paid.runId)).toMatchObject(spent);
  });

  it("by statements of many parts is told apart: the names of prepared statements are short", async () => {
    // Ends with work in flight, a note and a reply; called, it also enqueues its caller.
    const main = program(
      {
        left: { kind: "prompt", text: { from: "literal", text: "l?" }, agent: "left" },
        right: { kind: "prompt", text: { from: "literal", text: "r?" }, agent: "right" },
        end,
      },
      [{ from: "left", to: "end", on: "ok" }],
      { entry: ["left", "right"] },
    );
    const both = definition({ main: oneCall, main2: main, callee: main });
    const hasty = await openStore({ url: database.url, worker: "hasty" });
    const reply = { kind: "replied", text: "done", notes: ["cut short"] } as const;
    for (let i = 0; i < 3; i++) {
      const alone = await createRun(hasty, { definition: both, program: "main2" });
      const caller = await createRun(hasty, { definition: both });
      const call = await claimed(hasty, only(caller.jobs));
      const callee = await startCall(hasty, call.run, call.activity, null);
      for (const jobs of [alone.jobs, callee.jobs]) {
        const [left] = two(jobs);
        expect((await perform(hasty, left, reply)).kind).toBe("committed");
        expect(await getRun(store.database, left.runId)).toMatchObject({ status: "success", result: "done" });
      }
    }
    await hasty.close();
  });

  it("waits for ids as it waits for the database", async () => {
    const impatient = await openStore({ url: database.url, worker: "impatient", queryTimeoutMs: 400 });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query("begin");
    await client.query("alter sequence markmill.inline_activity_ids owned by none");
    const making = createRun(impatient, { definition: definition({ main: chain(1) }) });
    await pause(900);
    await client.query("rollback");
    await client.end();
    expect((await making).jobs).toHaveLength(1);
    await impatient.close();
  });
});

describe("a history that is read while its run goes on", () => {
  it("shows every activity once", async () => {
    const steps = 400;
    const { runId, jobs } = await createRun(store, { definition: definition({ main: chain(steps) }) });
    let ended = false;
    let looks = 0;
    // After every 20 steps the run waits until it is looked at, so that a slow reader sees it as often.
    const going = (async () => {
      let next = [...jobs];
      for (let step = 0; next.length > 0; step += 1) {
        for (const seen = looks; step % 20 === 0 && looks === seen; ) await pause(1);
        next = [...(await perform(store, only(next))).jobs];
      }
    })().finally(() => {
      ended = true;
    });
    while (!ended) {
      const { entries, activities } = await getHistory(other.database, runId);
      const done = entries.filter(({ kind }) => kind === "event").length - 1;
      const open = done === steps ? 0 : 1;
      expect(activities.filter(({ state }) => state === "done")).toHaveLength(done);
      expect(activities.filter(({ state }) => state === "ready")).toHaveLength(open);
      expect(new Set(activities.map(({ id }) => id)).size).toBe(done + open);
      looks += 1;
    }
    await going;
    expect(looks).toBeGreaterThanOrEqual(20);
  });
});

describe("many groups at once", () => {
  it("one bad event fails alone while the lanes beside it go on", async () => {
    const busy = await openStore({ url: database.url, worker: "busy", mostPerCommit: 8 });
    const one = definition({ main: branches(2) });
    const made = await Promise.all(Array.from({ length: 60 }, () => createRun(busy, { definition: one })));
    const claims = await Promise.all(made.flatMap(({ jobs }) => jobs.map((job) => claimed(busy, job))));
    const results = await Promise.allSettled(
      claims.map((claim, i) => {
        const event = succeeded(busy, claim, { kind: "done" });
        return busy.commit({
          run: claim.run,
          source: claim.activity,
          event: i % 40 === 7 ? { ...event, at: 1e300 } : event,
        });
      }),
    );
    expect(results.flatMap(({ status }, i) => (status === "rejected" ? i : []))).toEqual([7, 47, 87]);
    // The bad ones are delivered again; they are still open.
    const next = results.flatMap((result) => (result.status === "fulfilled" ? result.value.jobs : []));
    const open = await readyJobs(
      other.database.calm,
      made.map(({ runId }) => runId),
    );
    expect(open).toHaveLength(next.length + 3);
    await Promise.all(
      made.map(({ runId }) =>
        finish(
          busy,
          open.filter((job) => job.runId === runId),
        ),
      ),
    );
    for (const { runId } of made) expect(await rowOf(runId)).toMatchObject({ status: "success", rev: 5, inline: null });
    await replaysExactly(made[3]?.runId ?? "");
    await busy.close();
  });

  it("two processes on the same calls and runs neither lose nor double any", async () => {
    const one = definition({ main: oneCall, callee: branches(2) });
    const made = await Promise.all(Array.from({ length: 20 }, () => createRun(store, { definition: one })));
    const played = async (by: Store) => {
      for (let open = made.map(({ runId }) => runId); open.length > 0; ) {
        await Promise.all(
          open.map(async (runId) => {
            const { rows } = await by.database.calm.query<{ id: string }>("select id from runs where root_id = $1", [
              runId,
            ]);
            for (const job of await readyJobs(
              by.database.calm,
              rows.map(({ id }) => id),
            )) {
              const claim = await by.claim(job);
              if (claim.kind !== "claimed") continue;
              const { run, activity } = claim;
              if (activity.kind === "call" && activity.outcome === null) await startCall(by, run, activity, null);
              else
                await by.commit({
                  run,
                  source: activity,
                  event: succeeded(by, claim, activity.outcome ?? { kind: "done" }),
                });
            }
          }),
        );
        const { rows } = await by.database.calm.query<{ id: string }>(
          "select id from runs where id = any($1) and ended_at is null",
          [open],
        );
        open = rows.map(({ id }) => id);
      }
    };
    await Promise.all([played(store), played(other)]);
    for (const { runId } of made) {
      const { rows } = await store.database.calm.query(
        "select id, status, rev from runs where root_id = $1 order by rev",
        [runId],
      );
      expect(rows).toMatchObject([
        { id: runId, status: "success", rev: 2 },
        { status: "success", rev: 5 },
      ]);
      await replaysExactly(rows[1]?.id);
    }
  });
});

describe("whatever happens to a run", () => {
  const retry = { attempts: 3, baseMs: 0, factor: 1, maxMs: 0 };
  const mixed = program(
    {
      ...Object.fromEntries(Object.entries(branches(2).nodes).map(([name, node]) => [name, { ...node, retry }])),
      say: { kind: "prompt", text: { from: "literal", text: "?" }, retry },
      check: {
        kind: "check",
        condition: { op: "contains", left: { from: "name", name: "b0" }, right: { from: "literal", text: "first" } },
      },
      sorry: set("SORRY", "yes"),
    },
    [
      ...branches(2).edges,
      { from: "say", to: "check", on: "ok" },
      { from: "check", to: "all", on: "ok" },
      { from: "check", to: "all", on: "fail" },
    ],
    { entry: ["b0", "say", "b1"], handlers: { success: null, failed: "sorry" } },
  );

  /** What the state waits for is exactly what stands on the run's row and what has an open row. */
  async function agrees(runId: string): Promise<void> {
    const { state, differences } = await replayRun(store.database, store.definitions, runId);
    expect(differences).toEqual([]);
    const { activities } = await getHistory(store.database, runId);
    const open = activities.filter(
      (one) => one.state === "ready" || one.state === "claimed" || one.state === "waiting",
    );
    const names = (refs: readonly { node: string; attempt: number }[]) =>
      refs.map(({ node, attempt }) => `${node} ${attempt}`).sort();
    const asked = state.phase.is === "stopped" ? [] : Object.values(state.active).map(({ ref }) => ref);
    expect(names(open)).toEqual(names(asked));
    expect((await readyJobs(store.database.calm, [runId])).length).toBe(asked.length);
  }

  const seeds = Array.from({ length: inject("thorough") ? 12 : 4 }, (_, index) => index + 1);
  it.each(seeds)("it waits for what it has open, and ends (%i)", async (seed) => {
    let random = seed;
    const chance = () => {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      return random / 2 ** 32;
    };
    const { runId, jobs } = await createRun(store, { definition: definition({ main: mixed }) });
    let told = jobs;
    for (let turn = 0; turn < 200; turn++) {
      await agrees(runId);
      // Now and then all jobs are lost.
      if (chance() < 0.3) told = await readyJobs(other.database.calm, [runId]);
      const job = told[Math.floor(chance() * told.length)];
      if (job === undefined) {
        told = await readyJobs(other.database.calm, [runId]);
        if (told.length === 0) break;
        continue;
      }
      const by = chance() < 0.5 ? store : other;
      const luck = chance();
      if (luck < 0.12) {
        await stopRun(by, runId);
        await agrees(runId);
        told = (await resumeRun(chance() < 0.5 ? store : other, runId)).jobs;
      } else if (luck < 0.15) {
        await cancelRun(by, runId, "enough");
      } else {
        const both = luck < 0.4 ? [store, other] : [by];
        const committed = await Promise.all(
          both.map(async (one) => {
            const claim = await one.claim(job);
            if (claim.kind !== "claimed") return [];
            const { run, activity } = claim;
            const event =
              luck > 0.8
                ? failing(one, claim, luck > 0.97 ? "fail" : "retry")
                : succeeded(one, claim, activity.kind === "prompt" ? { kind: "replied", text: "!" } : { kind: "done" });
            return (await one.commit({ run, source: activity, event })).jobs;
          }),
        );
        told = [...told.filter((one) => one !== job), ...committed.flat()];
      }
    }
    await agrees(runId);
    expect(["success", "failed", "cancelled"]).toContain((await getRun(store.database, runId))?.status);
    expect(await rowOf(runId)).toMatchObject({ inline: null });
  });
});

it("of one run that cannot be read, a claim does not fail those beside it", async () => {
  const made = await Promise.all(
    Array.from({ length: 3 }, () => createRun(store, { definition: definition({ main: chain(1) }) })),
  );
  await store.database.calm.query("update runs set program = 'gone' where id = $1", [made[1]?.runId]);
  const claims = await Promise.allSettled(made.map(({ jobs }) => other.claim(only(jobs))));
  expect(claims).toMatchObject([
    { status: "fulfilled", value: { kind: "claimed" } },
    { status: "rejected", reason: { code: "STORE_NOT_FOUND" } },
    { status: "fulfilled", value: { kind: "claimed" } },
  ]);
});

describe("runs by the value of a variable", () => {
  it("are found while they are open, stopped and ended, by the value they have now", async () => {
    const main = program({ a: set("MARK", "B"), b: set("OTHER", "x"), end }, [
      { from: "a", to: "b", on: "ok" },
      { from: "b", to: "end", on: "ok" },
    ]);
    const long = "é".repeat(180);
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main }),
      variables: { MARK: "A", LONG: `${long}1` },
    });
    const found = async (variables: Record<string, string>) =>
      (await listRuns(store, { variables })).runs.map(({ id }) => id).filter((id) => id === runId);
    const holds = async (mark: string, not: string) => {
      expect(await found({ MARK: mark, LONG: `${long}1` })).toEqual([runId]);
      expect(await found({ MARK: not })).toEqual([]);
      expect(await found({ LONG: `${long}2` })).toEqual([]);
    };
    await holds("A", "B");
    const second = only((await perform(store, only(jobs))).jobs);
    await holds("B", "A");
    await stopRun(store, runId);
    await holds("B", "A");
    expect(second.attempt).toBe(1);
    await finish(other, (await resumeRun(store, runId)).jobs);
    await holds("B", "A");
    expect(await found({ OTHER: "x", STATUS: "SUCCESS" })).toEqual([runId]);
    const { rows } = await store.database.calm.query("select distinct final from variables where run_id = $1", [runId]);
    expect(rows).toEqual([{ final: true }]);
  });

  it("are found by the value they have now, wherever it is kept", async () => {
    const tag = `tag-${Math.random()}`;
    const [short, long] = [`${tag}-1`, `${tag}-${"x".repeat(200)}`];
    const main = program({ a: set("M", long), b: set("M", short), c: set("M", long), end }, [
      { from: "a", to: "b", on: "ok" },
      { from: "b", to: "c", on: "ok" },
      { from: "c", to: "end", on: "ok" },
    ]);
    const { runId, jobs } = await createRun(store, { definition: definition({ main }), variables: { M: short } });
    const found = async (value: string) => (await listRuns(store, { variables: { M: value } })).runs.length;
    const holds = async (value: string) => {
      expect([await found(short), await found(long)]).toEqual(value === short ? [1, 0] : [0, 1]);
      expect((await getRun(store.database, runId))?.variables).toMatchObject({ M: value });
    };
    let due = jobs;
    for (const value of [short, long, short]) {
      await holds(value);
      // The other process knows only what was written.
      expect((await claimed(other, only(due))).run.state.variables.M).toBe(value);
      due = (await perform(store, only(due))).jobs;
    }
    await holds(long);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", variables: { M: long } });
  });

  it("are found when they ended as they were born, and when they were cancelled", async () => {
    const mark = `mark-${Math.random()}`;
    const born = await createRun(store, {
      definition: definition({ main: program({ end }, []) }),
      variables: { M: mark },
    });
    const open = await createRun(store, { definition: definition({ main: chain(1) }), variables: { M: mark } });
    await cancelRun(store, open.runId, "enough");
    const { runs } = await listRuns(store, { variables: { M: mark } });
    expect(runs.map(({ id }) => id)).toEqual([open.runId, born.runId]);
  });
});

describe("in a database of its own", () => {
  async function alone<Result>(act: (own: Store, url: string) => Promise<Result>): Promise<void> {
    const own = await migratedDatabase();
    const by = await openStore({ url: own.url });
    try {
      await act(by, own.url);
    } finally {
      await by.close();
      await own.drop();
    }
  }

  it("only what is open and not stopped is due", () =>
    alone(async (own) => {
      const { runId, jobs } = await createRun(own, { definition: definition({ main: chain(1) }) });
      await pause(50);
      expect(await oldestDue(own.database, ["control"])).toBeGreaterThanOrEqual(45);
      expect(await oldestDue(own.database, ["prompt", "execute"])).toBe(0);
      await stopRun(own, runId);
      expect(await oldestDue(own.database, ["control"])).toBe(0);
      await finish(own, (await resumeRun(own, runId)).jobs);
      expect(await oldestDue(own.database, ["control"])).toBe(0);
      expect(jobs).toHaveLength(1);
    }));

  it("old runs go with all that hangs on them, open ones stay", () =>
    alone(async (own) => {
      const calling = definition({ main: oneCall, callee: chain(1) });
      const { runId, jobs } = await createRun(own, { definition: calling });
      const call = await claimed(own, only(jobs));
      const start = await startCall(own, call.run, call.activity, null);
      const essay = { ESSAY: "so long that it has a row while the run is open, ".repeat(4) };
      const open = await createRun(own, { definition: definition({ main: chain(2) }), variables: essay });
      const back = only((await perform(own, only(start.jobs))).jobs);
      const returned = await claimed(own, back);
      await perform(own, back, returned.activity.outcome ?? { kind: "done" });
      await own.database.calm.query("update runs set ended_at = ended_at - interval '2 days'");
      expect(await getRun(own.database, runId)).toMatchObject({ status: "success" });
      expect(await deleteOldRuns(own.database, 86_400_000)).toBe(1);
      for (const table of ["runs", "events", "variables", "activities"]) {
        const key = table === "runs" ? "id" : "run_id";
        const { rows } = await own.database.calm.query(`select distinct ${key} as id from ${table}`);
        expect(rows, table).toEqual(table === "activities" ? [] : [{ id: open.runId }]);
      }
      await finish(own, open.jobs);
      expect(await getRun(own.database, open.runId)).toMatchObject({ status: "success" });
    }));
});

describe("a database that was left in the middle of work before inline activities stood on their runs", () => {
  /** As it was written then: the whole state, and a row for every activity. */
  async function leave(client: pg.Client, id: string, hash: string, main: ReturnType<typeof program>, events: Event[]) {
    let state = initialState;
    for (const [index, event] of events.entries()) {
      const stepped = step(main, state, event);
      state = stepped.state;
      await client.query("insert into events (run_id, seq, type, at, body) values ($1, $2, $3, now(), $4)", [
        ...[id, index + 1, event.type, JSON.stringify(event)],
      ]);
      for (const command of stepped.commands) {
        if (command.do === "abort") {
          await client.query("update activities set state = 'void' where run_id = $1 and state = 'ready'", [id]);
        }
        if (command.do !== "perform") continue;
        const { activity, work } = command;
        await client.query(
          `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work)
           values ($1, $1, $2, $3, -1, $4, $5, 'control', $6, 'ready', $7)`,
          [id, activity.node, activity.generation, activity.attempt, work.kind, state.epoch, JSON.stringify(work)],
        );
      }
      if ("activity" in event) {
        await client.query(
          "update activities set state = 'done', seq = $3, ended_at = now() where run_id = $1 and node = $2",
          [id, event.activity.node, index + 1],
        );
      }
    }
    const { variables, ...kept } = state;
    const ended = state.phase.is === "ended";
    await client.query(
      `insert into runs (id, root_id, definition_hash, program, name, status, phase, epoch, rev, state, depth, ended_at)
       values ($1, $1, $2, 'main', 'main', $3, $4, $5, $6, $7, 0, $8)`,
      [
        ...[id, hash, state.phase.is === "ended" ? state.phase.status : state.phase.is, state.phase.is, state.epoch],
        ...[events.length, JSON.stringify(kept), ended ? new Date() : null],
      ],
    );
    for (const [name, value] of Object.entries(variables)) {
      await client.query("insert into variables (run_id, name, value) values ($1, $2, $3)", [id, name, value]);
    }
  }

  it("is migrated, and its open and its stopped runs finish", async () => {
    const own = await freshDatabase();
    const pool = new pg.Pool({ connectionString: own.url });
    await migrate(
      pool,
      readMigrations().filter(({ name }) => name < "0004"),
    );
    await pool.end();
    const main = branches(2);
    const { hash, ...defined } = definition({ main });
    const started = (run: string): RunStarted => ({
      ...{ type: "run.started", at: Date.now(), seed: 1, run, environment: {}, caps: {}, caller: null },
      variables: { STUDENT: "Ada" },
    });
    const done = (node: string): Event => ({
      ...{ type: "activity.succeeded", at: Date.now(), seed: 1, epoch: 1, usage: null },
      activity: { node, generation: 1, item: null, attempt: 1 },
      outcome: { kind: "done" },
    });
    const client = new pg.Client({ connectionString: own.url, options: "-c search_path=markmill" });
    await client.connect();
    await client.query(
      "insert into definitions (hash, dialect, name, root, programs, files) values ($1, $2, $3, $4, $5, $6)",
      [
        ...[hash, defined.dialect, defined.name, defined.root],
        ...[JSON.stringify(defined.programs), JSON.stringify(defined.files)],
      ],
    );
    await leave(client, "open", hash, main, [started("open"), done("b0")]);
    await leave(client, "stopped", hash, main, [started("stopped"), { type: "run.stopped", at: Date.now(), seed: 1 }]);
    await leave(client, "over", hash, main, [started("over"), ...["b0", "b1", "b0x", "b1x"].map(done)]);
    await client.end();

    const by = await openStore({ url: own.url });
    const quiet = await quietActivities(by.database, 0);
    const { rows } = await by.database.calm.query("select run_id from activities where id = any($1)", [
      quiet.map(({ activityId }) => activityId),
    ]);
    expect(rows).toEqual([{ run_id: "open" }, { run_id: "open" }]);
    expect(quiet).toHaveLength(2);
    const jobs = await enqueueAgain(by.database, quiet);
    expect(jobs).toHaveLength(2);
    const again = await resumeRun(by, "stopped");
    expect(again.jobs.map(({ attempt }) => attempt)).toEqual([2, 2]);
    await finish(by, jobs);
    await finish(by, again.jobs);
    for (const id of ["open", "stopped", "over"]) {
      expect(await getRun(by.database, id)).toMatchObject({ status: "success", hits: { b0: 1, b1x: 1 } });
      const { differences } = await replayRun(by.database, by.definitions, id);
      expect(differences).toEqual([]);
      const { activities } = await getHistory(by.database, id);
      expect(activities.map(({ node, state }) => `${node} ${state}`).sort()).toEqual(
        ["b0", "b0x", "b1", "b1x"].map((node) => `${node} done`),
      );
    }
    const { runs } = await listRuns(by, { variables: { STUDENT: "Ada" } });
    expect(runs.map(({ id }) => id).sort()).toEqual(["open", "over", "stopped"]);
    await by.close();
    await own.drop();
  });
});
