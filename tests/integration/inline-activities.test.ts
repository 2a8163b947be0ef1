// Inline activities, which are stored on their run's row, after lost jobs and processes, and after stopped and repeated runs.

import type { JobSpec } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  createRun,
  enforceDeadlines,
  enqueueAgain,
  getHistory,
  getRun,
  leaveQuiet,
  quietActivities,
  readyJobs,
  resumeRun,
  type Store,
  startCall,
  stopRun,
} from "../support/store.ts";
import { expectExactReplay, openTwoStores } from "../support/two-stores.ts";
import { assign, branches, end, failing, finish, pause, set, two } from "./inline-programs.ts";
import { chain, claimed, definition, oneCall, only, perform, program, succeeded } from "./store-programs.ts";

let store: Store;
/** A second process: it shares nothing with the first but the database. */
let other: Store;

openTwoStores(
  (opened) => {
    ({ store, other } = opened);
  },
  // Some runs have a thousand nodes. On a busy machine their statements may take longer than the usual limit of a query.
  { queryTimeoutMs: 120_000 },
);

async function rowOf(runId: string): Promise<Record<string, unknown>> {
  const { rows } = await store.database.calm.query("select * from runs where id = $1", [runId]);
  return rows[0] ?? {};
}
const replaysExactly = (runId: string) => expectExactReplay(store, runId);

describe("a stopped run with open inline activities", () => {
  it("enqueues and hands out nothing, and requests all of them again when it is resumed", async () => {
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
      run: held.run,
      source: held.activity,
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

  it("can be stopped and resumed twice, beside an activity with a row", async () => {
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

  it("can be cancelled, and no activity stays open", async () => {
    const { runId } = await createRun(store, { definition: definition({ main: branches(2) }) });
    await stopRun(store, runId);
    await cancelRun(other, runId, "enough");
    expect(await rowOf(runId)).toMatchObject({ status: "cancelled", inline: null });
    expect((await resumeRun(store, runId)).jobs).toEqual([]);
  });
});

describe("a run that ends or starts its handler with open inline activities", () => {
  it("drops their results after a cancellation by another process, although this process remembers them as open", async () => {
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

  it("is read again by the process that created it, and leaves the memory of a process that only creates runs", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    await cancelRun(other, runId, "enough");
    expect(await store.claim(two(jobs)[0])).toEqual({ kind: "stale", jobs: [] });
  });

  it("drops them at its deadline, runs the handler, and clears the deadline at the end", async () => {
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
      status: "failed",
      reason: { code: "LIMIT_TIME" },
      deadline: null,
      variables: { SORRY: "yes" },
    });
    await replaysExactly(runId);
  });
});

describe("an inline activity with a transient failure", () => {
  it("is requested again under a new id, which its old job receives", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: branches(2) }) });
    const [left, right] = two(jobs);
    const claim = await claimed(store, left);
    const failed = await store.commit({
      run: claim.run,
      source: claim.activity,
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
  it("both count if they end at the same rev in two processes", async () => {
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

  it("a lost job is found although another branch continues, and is enqueued alone", async () => {
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
    // The first process does not have the new count in memory. Nothing depends on it.
    await finish(store, [next, ...again]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 5 });
  });

  it("ids are unique, for more than one block and from two processes", async () => {
    const size = 1_100;
    const names = Array.from({ length: size }, (_, i) => `n${i}`);
    const main = program(Object.fromEntries(names.map((name) => [name, assign(name)])), [], { entry: names });
    const made = await Promise.all([store, other].map((by) => createRun(by, { definition: definition({ main }) })));
    const ids = made.flatMap(({ jobs }) => jobs.map(({ activityId }) => activityId));
    expect(ids).toHaveLength(2 * size);
    expect(new Set(ids).size).toBe(2 * size);
  });
});

describe("a called run with inline activities", () => {
  it("leaves its caller ready, once, if it ends when it is created", async () => {
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

  it("is enqueued again by a second delivery of its call, and its end enqueues the caller", async () => {
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

  it("is cancelled with its stopped caller, and its inline activities too", async () => {
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

it("a claim of an unreadable run does not fail the claims beside it", async () => {
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
