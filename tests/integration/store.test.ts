import type { Node } from "@markmill/engine";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  applyEvent,
  cancelRun,
  childRuns,
  createRun,
  enqueueAgain,
  getHistory,
  getMessages,
  getRun,
  leaveQuiet,
  quietActivities,
  type Store,
  startCall,
  watch,
} from "../support/store.ts";
import { expectExactReplay, openTwoStores } from "../support/two-stores.ts";
import {
  chain,
  claimed,
  definition,
  oneCall,
  onePrompt,
  only,
  perform,
  program,
  succeeded,
  twins,
} from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
/** A second process: it shares nothing with the first but the database. */
let other: Store;

openTwoStores(
  (opened) => {
    ({ database, store, other } = opened);
  },
  { leaseMs: 2_000 },
  freshDatabase,
);

async function count(text: string, ...values: unknown[]): Promise<number> {
  const { rows } = await store.database.calm.query<{ n: number }>(`select count(*) as n from ${text}`, values);
  return rows[0]?.n ?? -1;
}
/** The nodes of a program that calls another program and ends. */
const calling = (program: string): Record<string, Node> => ({
  call: { kind: "call", program },
  end: { kind: "end", outcome: "success" },
});
const replaysExactly = (runId: string) => expectExactReplay(store, runId);

describe("a run", () => {
  it("commits each activity with state, variables and event", async () => {
    const { runId, jobs, created } = await createRun(store, {
      definition: definition({ main: chain(3) }),
      variables: { STUDENT: "Ada" },
      labels: { class: "7b" },
    });
    expect(created).toBe(true);
    let next = jobs;
    for (let i = 0; i < 3; i++) next = (await perform(store, only(next))).jobs;
    expect(next).toEqual([]);
    const run = await getRun(store.database, runId);
    expect(run).toMatchObject({ status: "success", result: "step 2", rev: 4, labels: { class: "7b" } });
    expect(run?.variables).toMatchObject({ STUDENT: "Ada", RESULT: "step 2", STATUS: "SUCCESS" });
    expect(run?.hits).toMatchObject({ n0: 1, n1: 1, n2: 1 });
    const history = await getHistory(store.database, runId);
    expect(history.entries.map((entry) => entry.kind === "event" && entry.event.type)).toEqual([
      "run.started",
      "activity.succeeded",
      "activity.succeeded",
      "activity.succeeded",
    ]);
    expect(history.activities.map(({ node, state, seq }) => [node, state, seq])).toEqual([
      ["n0", "done", 2],
      ["n1", "done", 3],
      ["n2", "done", 4],
    ]);
    await replaysExactly(runId);
  });

  it("is continued by another process that has nothing of it in memory", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: chain(4) }) });
    let next = jobs;
    for (let i = 0; i < 4; i++) next = (await perform(i % 2 === 0 ? other : store, only(next))).jobs;
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "step 3" });
    await replaysExactly(runId);
  });

  it("is created once per idempotency key, and a repeated creation returns its ready activities again", async () => {
    const request = { definition: definition({ main: chain(2) }), idempotencyKey: "submission-17" };
    const all = await Promise.all([createRun(store, request), createRun(other, request), createRun(store, request)]);
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    for (const { jobs } of all) expect(only(jobs).activityId).toBe(all[0]?.jobs[0]?.activityId);
    expect(await count("idempotency_keys where key = 'submission-17'")).toBe(1);
  });

  it("stores NUL and lone surrogates as U+FFFD, in state and history", async () => {
    const hostile = "a\0b\ud800c😀";
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main: onePrompt }),
      variables: { ESSAY: hostile },
    });
    await perform(store, only(jobs), { kind: "replied", text: hostile });
    const run = await getRun(store.database, runId);
    expect(run?.variables.ESSAY).toBe("a\ufffdb\ufffdc😀");
    expect(run?.result).toBe("a\ufffdb\ufffdc😀");
    await replaysExactly(runId);
  });

  it("adds a prompt and its reply to the thread, with the prompt's text from its row", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    await perform(store, only(jobs), { kind: "replied", text: "Good day" });
    const { rows } = await store.database.calm.query<{ id: string }>("select id from threads where run_id = $1", [
      runId,
    ]);
    const messages = await getMessages(store.database, rows[0]?.id ?? "");
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "Hello"],
      ["assistant", "Good day"],
    ]);
  });
});

describe("delivery of jobs", () => {
  it("ten deliveries of one job from two processes cause one commit", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: chain(2) }) });
    const job = only(jobs);
    const results = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const by = i % 2 === 0 ? store : other;
        const claim = await by.claim(job);
        if (claim.kind !== "claimed") return claim.kind;
        const event = succeeded(by, claim, { kind: "done" });
        return (await by.commit({ run: claim.run, source: claim.activity, event })).kind;
      }),
    );
    expect(results.filter((kind) => kind === "committed")).toHaveLength(1);
    expect(await getRun(store.database, runId)).toMatchObject({ rev: 2 });
    expect(await count("events where run_id = $1", runId)).toBe(2);
    const { activities } = await getHistory(store.database, runId);
    expect(activities.map(({ state }) => state)).toEqual(["done", "ready"]);
  });

  it("a delivery after the commit returns only the jobs that may not have been enqueued", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: chain(3) }) });
    const { jobs: next } = await perform(store, only(jobs));
    expect(await other.claim(only(jobs))).toEqual({ kind: "stale", jobs: next });
  });

  it("a delivery of an activity with a lease waits for the end of the lease", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const { activity } = await claimed(store, only(jobs));
    await store.database.calm.query(
      "update activities set lease_until = clock_timestamp() + interval '1 hour' where id = $1",
      [activity.id],
    );
    const second = await other.claim(only(jobs));
    expect(second).toMatchObject({ kind: "held" });
    expect(second.kind === "held" && second.forMs).toBeGreaterThan(60_000);
  });

  it("a delivery after an expired lease takes the activity over, and the first holder's result is dropped", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const first = await claimed(store, only(jobs));
    await store.database.calm.query("update activities set lease_until = clock_timestamp() where id = $1", [
      first.activity.id,
    ]);
    const second = await claimed(other, only(jobs));
    expect(second).toMatchObject({ interrupted: true, takeovers: 1 });
    const late = await store.commit({
      run: first.run,
      source: first.activity,
      event: succeeded(store, first, { kind: "replied", text: "too late" }),
    });
    expect(late.kind).toBe("dropped");
    const real = await other.commit({
      run: second.run,
      source: second.activity,
      event: succeeded(other, second, { kind: "replied", text: "in time" }),
    });
    expect(real.kind).toBe("committed");
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "in time" });
  });
});

describe("the commit's precondition", () => {
  it("decides an event again if another branch changed the run first, and both events count", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: twins }) });
    expect(jobs).toHaveLength(2);
    const [left, right] = jobs;
    if (left === undefined || right === undefined) throw new Error("two enqueues expected");
    // Both read the run at the same rev. They commit one after the other, in different processes.
    const one = await claimed(store, left);
    const two = await claimed(other, right);
    expect(one.run.rev).toBe(two.run.rev);
    const first = await store.commit({
      run: one.run,
      source: one.activity,
      event: succeeded(store, one, { kind: "replied", text: "L" }),
    });
    const second = await other.commit({
      run: two.run,
      source: two.activity,
      event: succeeded(other, two, { kind: "replied", text: "R" }),
    });
    expect([first.kind, second.kind]).toEqual(["committed", "committed"]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", rev: 3 });
    await replaysExactly(runId);
  });

  it("lets both branches of a run pass that end in the same moment in one process", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: twins }) });
    const all = await Promise.all(jobs.map((job) => perform(store, job, { kind: "replied", text: "same" })));
    expect(all.map(({ kind }) => kind)).toEqual(["committed", "committed"]);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success" });
  });

  it("drops a success from an older epoch", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const claim = await claimed(store, only(jobs));
    await cancelRun(other, runId, "enough");
    const late = await store.commit({
      run: claim.run,
      source: claim.activity,
      event: succeeded(store, claim, { kind: "replied", text: "late" }),
    });
    expect(late).toEqual({ kind: "dropped", jobs: [] });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "cancelled", rev: 2 });
    expect(await count("activities where run_id = $1 and state = 'void'", runId)).toBe(1);
    expect(await other.claim(only(jobs))).toEqual({ kind: "stale", jobs: [] });
  });

  it("fails one bad row of a group alone", async () => {
    const runs = await Promise.all(
      Array.from({ length: 8 }, () => createRun(store, { definition: definition({ main: chain(2) }) })),
    );
    const claims = await Promise.all(runs.map(({ jobs }) => claimed(store, only(jobs))));
    const results = await Promise.allSettled(
      claims.map((claim, i) => {
        const event = succeeded(store, claim, { kind: "done" });
        // Postgres has no such time.
        return store.commit({
          run: claim.run,
          source: claim.activity,
          event: i === 3 ? { ...event, at: 1e300 } : event,
        });
      }),
    );
    expect(results.map(({ status }) => status)).toEqual([
      ...Array(3).fill("fulfilled"),
      "rejected",
      ...Array(4).fill("fulfilled"),
    ]);
    expect(results[3]).toMatchObject({ reason: { name: "StoreError" } });
    expect(await getRun(store.database, runs[3]?.runId ?? "")).toMatchObject({ rev: 1 });
    expect(await getRun(store.database, runs[4]?.runId ?? "")).toMatchObject({ rev: 2 });
  });
});

describe("a call of a workflow", () => {
  const callsOne = () => definition({ main: oneCall, callee: chain(1) });

  it("creates one child if it is delivered twice, and the child's end enqueues the caller, which continues", async () => {
    const { runId, jobs } = await createRun(store, { definition: callsOne() });
    const call = only(jobs);
    const claim = await claimed(store, call);
    const both = await Promise.all([
      startCall(store, claim.run, claim.activity, "job-1"),
      startCall(other, claim.run, claim.activity, "job-1"),
    ]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(["committed", "dropped"]);
    expect(await count("runs where parent_activity_id = $1", call.activityId)).toBe(1);
    const first = only(both[0].jobs);
    expect(first.parentJob).toBe("job-1");
    // The second caller gets the job of the callee. So does a caller after a crash before that job was enqueued.
    expect(both[1].jobs).toMatchObject([{ activityId: first.activityId }]);
    expect(await store.claim(call)).toMatchObject({ kind: "stale", jobs: [{ activityId: first.activityId }] });

    const ended = await perform(other, first);
    const back = only(ended.jobs);
    expect(back).toMatchObject({ runId, activityId: call.activityId, enqueues: call.enqueues + 1, queue: "control" });
    const returned = await claimed(store, back);
    expect(returned.activity.outcome).toMatchObject({ kind: "returned", status: "success", result: "step 0" });
    const last = await store.commit({
      run: returned.run,
      source: returned.activity,
      event: succeeded(store, returned, returned.activity.outcome ?? { kind: "done" }),
    });
    expect(last.kind).toBe("committed");
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "step 0" });
    expect(await childRuns(store.database, runId)).toMatchObject([{ status: "success", depth: 1 }]);
  });

  it("is cancelled with its caller, down the tree, and workers are notified", async () => {
    const told = new Set<string>();
    const connected = Promise.withResolvers<void>();
    const end = watch(database.url, { onControl: ({ runId }) => told.add(runId), onConnected: connected.resolve });
    await connected.promise;
    const { runId, jobs } = await createRun(store, {
      definition: definition({
        main: oneCall,
        callee: { ...oneCall, nodes: calling("leaf") },
        leaf: chain(2),
      }),
    });
    const top = await claimed(store, only(jobs));
    const middle = await startCall(store, top.run, top.activity, null);
    const inner = await claimed(store, only(middle.jobs));
    const leaf = await startCall(store, inner.run, inner.activity, null);
    const held = await claimed(store, only(leaf.jobs));
    await cancelRun(other, runId, "enough");
    const { rows } = await store.database.calm.query("select id, status from runs where root_id = $1", [runId]);
    expect(rows.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
    const late = await store.commit({
      run: held.run,
      source: held.activity,
      event: succeeded(store, held, { kind: "done" }),
    });
    expect(late.kind).toBe("dropped");
    // A call that is delivered after the cancellation creates nothing.
    expect((await startCall(store, top.run, top.activity, null)).kind).toBe("dropped");
    await expect.poll(() => rows.every(({ id }) => told.has(id))).toBe(true);
    await end();
  });
});

describe("retries", () => {
  it("keep the activity, increase the attempt and wait for their time", async () => {
    const { runId, jobs } = await createRun(store, {
      definition: definition({
        main: program(
          {
            say: {
              kind: "prompt",
              text: { from: "literal", text: "Hello" },
              retry: { attempts: 3, baseMs: 60_000, factor: 2, maxMs: 100_000 },
            },
            end: { kind: "end", outcome: "success" },
          },
          [{ from: "say", to: "end", on: "ok" }],
        ),
      }),
    });
    const claim = await claimed(store, only(jobs));
    const failed = await store.commit({
      run: claim.run,
      source: claim.activity,
      event: {
        type: "activity.failed",
        at: store.clock.now(),
        seed: 1,
        epoch: claim.activity.epoch,
        activity: claim.activity.ref,
        failure: { code: "MODEL_BUSY", message: "429" },
        next: "retry",
        retryAfterMs: null,
        usage: null,
      },
    });
    const again = only(failed.jobs);
    expect(again).toMatchObject({ activityId: claim.activity.id, attempt: 2 });
    expect(again.delayMs).toBeGreaterThan(30_000);
    expect(await other.claim(again)).toMatchObject({ kind: "early" });
    expect(await other.claim(only(jobs))).toMatchObject({ kind: "stale" });
    expect(await count("activities where run_id = $1", runId)).toBe(1);
  });
});

describe("the supervisor", () => {
  it("finds ready activities without a recent job, and enqueues them once more under a new id", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: chain(2) }) });
    const job = only(jobs);
    const mine = (found: readonly { activityId: number }[]) =>
      found.filter(({ activityId }) => activityId === job.activityId);
    expect(mine(await quietActivities(store.database, 60_000))).toEqual([]);
    const quiet = await quietActivities(store.database, 0);
    expect(mine(quiet)).toHaveLength(1);
    const again = await Promise.all([enqueueAgain(store.database, quiet), enqueueAgain(other.database, quiet)]);
    expect(mine(again.flat())).toMatchObject([{ enqueues: job.enqueues + 1 }]);
    expect(mine(await quietActivities(store.database, 1_000))).toEqual([]);
    await leaveQuiet(store.database, quiet);
    expect((await perform(store, only(mine(again.flat()) as never))).kind).toBe("committed");
  });

  it("does not wait for locked rows, and finds them in the next pass", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const job = only(jobs);
    const inline = await createRun(store, { definition: definition({ main: chain(2) }) });
    const ids = [job.activityId, only(inline.jobs).activityId];
    const mine = async () =>
      (await quietActivities(store.database, 0)).filter(({ activityId }) => ids.includes(activityId));
    const quiet = await mine();
    expect(quiet).toHaveLength(2);
    const locker = new pg.Client({ connectionString: store.database.url });
    await locker.connect();
    await locker.query("begin");
    await locker.query("select from activities where run_id = $1 for update", [runId]);
    await locker.query("select from runs where id = $1 for update", [inline.runId]);
    expect(await enqueueAgain(store.database, quiet)).toEqual([]);
    await leaveQuiet(store.database, quiet);
    await locker.end();
    expect(await mine()).toHaveLength(2);
    expect(await enqueueAgain(store.database, quiet)).toHaveLength(2);
  });

  it("finds expired leases", async () => {
    const { jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const claim = await claimed(store, only(jobs));
    const found = async () =>
      (await quietActivities(store.database, 0)).some(({ activityId }) => activityId === claim.activity.id);
    expect(await found()).toBe(false);
    await store.database.calm.query("update activities set lease_until = clock_timestamp() where id = $1", [
      claim.activity.id,
    ]);
    expect(await found()).toBe(true);
  });
});

it("an event that does not fit the current run commits nothing", async () => {
  const { runId } = await createRun(store, { definition: definition({ main: chain(1) }) });
  expect(await applyEvent(store, runId, () => null)).toEqual({ kind: "dropped", jobs: [] });
});
