// Events that come from outside a run: stop, resume, answers to questions, deadlines.
import type { JobSpec, Node } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import {
  answerAsk,
  cancelRun,
  childRuns,
  createRun,
  defaultTenant,
  enforceDeadlines,
  expireAsks,
  getRun,
  openAsks,
  resumeRun,
  type Store,
  startCall,
  stopRun,
} from "../support/store.ts";
import { expectExactReplay, openTwoStores } from "../support/two-stores.ts";
import {
  claimed,
  definition,
  oneAsk,
  oneCall,
  onePrompt,
  only,
  perform,
  program,
  succeeded,
} from "./store-programs.ts";

let store: Store;
/** A second process: it shares nothing with the first but the database. */
let other: Store;

openTwoStores(
  (opened) => {
    ({ store, other } = opened);
  },
  { leaseMs: 2_000 },
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
/** The deadline in ms since 1970. */
async function deadlineOf(runId: string): Promise<number> {
  const text = "select extract(epoch from deadline)::float8 * 1000 as at from runs where id = $1";
  const { rows } = await store.database.calm.query<{ at: number }>(text, [runId]);
  return rows[0]?.at ?? Number.NaN;
}
const replaysExactly = (runId: string) => expectExactReplay(store, runId);

describe("events from outside a run", () => {
  it("a resume requests the work of a stopped run again, with a new job", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const held = await claimed(store, only(jobs));
    await stopRun(other, runId);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "stopped", epoch: 2 });
    const late = await store.commit({
      run: held.run,
      source: held.activity,
      event: succeeded(store, held, { kind: "replied", text: "x" }),
    });
    expect(late.kind).toBe("dropped");
    const again = only((await resumeRun(other, runId)).jobs);
    expect(again).toMatchObject({ activityId: held.activity.id, epoch: 2 });
    expect(again.enqueues).toBeGreaterThan(only(jobs).enqueues);
    await perform(store, again, { kind: "replied", text: "after all" });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "after all" });
    await replaysExactly(runId);
  });

  it("the time between a stop and the resume does not count for a time limit", async () => {
    const timed = { definition: definition({ main: onePrompt }), caps: { timeMs: 60_000 } };
    const { runId } = await createRun(store, timed);
    const before = await deadlineOf(runId);
    await stopRun(other, runId);
    expect(await deadlineOf(runId)).toBe(Number.POSITIVE_INFINITY);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await resumeRun(other, runId);
    expect(await deadlineOf(runId)).toBeGreaterThan(before + 900);
    await replaysExactly(runId);
  });

  it("a stop adds to the caller's deadline the time that called runs waited for a person", async () => {
    const below = definition({ main: oneCall, callee: { ...oneCall, nodes: calling("leaf") }, leaf: oneAsk });
    const { runId, jobs } = await createRun(store, { definition: below, caps: { timeMs: 60_000 } });
    const before = await deadlineOf(runId);
    const deliver = async (job: JobSpec) => {
      const top = await claimed(store, job);
      const inner = await claimed(store, only((await startCall(store, top.run, top.activity, null)).jobs));
      await startCall(store, inner.run, inner.activity, null);
    };
    await deliver(only(jobs));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await stopRun(other, runId);
    await deliver(only((await resumeRun(other, runId)).jobs));
    expect(await deadlineOf(runId)).toBeGreaterThan(before + 900);
    await replaysExactly(runId);
  });

  it("a question of a stopped run does not expire, and keeps its remaining time until the resume", async () => {
    const asking = program(
      { ask: { kind: "ask", question: "?", timeoutMs: 1_500 }, end: { kind: "end", outcome: "success" } },
      [{ from: "ask", to: "end", on: "ok" }],
    );
    const { runId } = await createRun(store, { definition: definition({ main: asking }) });
    await stopRun(other, runId);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await expireAsks(store);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "stopped" });
    await resumeRun(other, runId);
    await expireAsks(store);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "doing" });
    expect(await openAsks(store.database, runId)).toHaveLength(1);
    await expect
      .poll(async () => {
        await expireAsks(store);
        return (await getRun(store.database, runId))?.reason;
      })
      .toMatchObject({ code: "ASK_EXPIRED" });
  });

  it("the questions below a run are found by its branch, without reading every run of the tree", async () => {
    const items = { over: { from: "literal", text: '["a","b","c"]' }, concurrency: 3, itemError: "fail" } as const;
    const end: Node = { kind: "end", outcome: "success" };
    const main = program(
      { each: { kind: "map", ...items, minSuccess: 1, each: { kind: "call", program: "middle" } }, end },
      [{ from: "each", to: "end", on: "ok" }],
    );
    const asked = { definition: definition({ main, middle: oneCall, callee: oneAsk }) };
    const { runId, jobs } = await createRun(store, asked);
    const call = async (spec: JobSpec) => {
      const { run, activity } = await claimed(store, spec);
      const started = await startCall(store, run, activity, null);
      if (started.kind === "refused") throw new Error(started.failure.message);
      return { runId: run.id, enqueues: started.jobs };
    };
    const middle = (await Promise.all(jobs.map(call))).flatMap((one) => one.enqueues);
    const calls = await Promise.all(middle.map(call));
    const { asks } = store.as(defaultTenant);
    const all = await asks.list(runId);
    expect(all).toHaveLength(3);
    expect(await asks.below(runId)).toEqual(all);
    const below = await Promise.all(calls.map((one) => asks.below(one.runId)));
    expect(below.map((found) => found.length)).toEqual([1, 1, 1]);
    expect(below.flat().toSorted((one, other) => one.activityId - other.activityId)).toEqual(all);
    for (const one of all) expect(await asks.below(one.runId)).toEqual([one]);
    expect(await store.as("another").asks.below(runId)).toEqual([]);
  });

  it("a caller does not time out while a called run waits for a person, nor when that run has just ended", async () => {
    const timed = { definition: definition({ main: oneCall, callee: oneAsk }), caps: { timeMs: 400 } };
    const { runId, jobs } = await createRun(store, timed);
    const top = await claimed(store, only(jobs));
    await startCall(store, top.run, top.activity, null);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await enforceDeadlines(store);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "doing" });
    const [ask] = await openAsks(store.database, runId);
    const { jobs: back } = await answerAsk(store, ask?.activityId ?? 0, "7", null);
    // The callee has ended, and its caller has not processed that yet. The deadline is not checked before its time.
    await store.database.calm.query("update runs set deadline = now() - interval '1 second' where id = $1", [runId]);
    await enforceDeadlines(store);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "doing" });
    const call = await claimed(store, only(back));
    await store.commit({
      run: call.run,
      source: call.activity,
      event: succeeded(store, call, call.activity.outcome ?? { kind: "done" }),
    });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success" });
    await replaysExactly(runId);
  });

  it("a stop counts the steps of a called run whose end its caller has not processed yet", async () => {
    const calling = { definition: definition({ main: oneCall, callee: oneAsk }) };
    const { runId, jobs } = await createRun(store, calling);
    const top = await claimed(store, only(jobs));
    await startCall(store, top.run, top.activity, null);
    const [ask] = await openAsks(store.database, runId);
    await answerAsk(store, ask?.activityId ?? 0, "7", null);
    await stopRun(store, runId);
    const { rows } = await store.database.calm.query("select steps from runs where id = $1", [runId]);
    // The steps are the call, and the question of the called run.
    expect(rows).toEqual([{ steps: 2 }]);
    await replaysExactly(runId);
  });

  it("a caller times out if a run that it called works for too long", async () => {
    const timed = { definition: definition({ main: oneCall, callee: onePrompt }), caps: { timeMs: 300 } };
    const { runId, jobs } = await createRun(store, timed);
    const top = await claimed(store, only(jobs));
    await startCall(store, top.run, top.activity, null);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const back = await enforceDeadlines(store);
    const [callee] = await childRuns(store.database, runId);
    expect(callee).toMatchObject({ status: "failed", reason: { code: "LIMIT_TIME" } });
    const call = await claimed(store, only(back));
    await store.commit({
      run: call.run,
      source: call.activity,
      event: succeeded(store, call, call.activity.outcome ?? { kind: "done" }),
    });
    expect(await getRun(store.database, runId)).toMatchObject({ status: "failed", reason: { code: "LIMIT_TIME" } });
  });

  it("a run that is called again after a stop has at most its caller's remaining time", async () => {
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main: oneCall, callee: onePrompt }),
      caps: { timeMs: 60_000 },
    });
    const top = await claimed(store, only(jobs));
    await startCall(store, top.run, top.activity, null);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await stopRun(other, runId);
    const again = await claimed(store, only((await resumeRun(other, runId)).jobs));
    await startCall(store, again.run, again.activity, null);
    const callee = (await childRuns(store.database, runId)).find(({ status }) => status === "doing");
    expect(await deadlineOf(callee?.id ?? "")).toBeLessThanOrEqual((await deadlineOf(runId)) + 1);
  });

  it("only the first of two parallel answers ends a question", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: oneAsk }) });
    expect(jobs).toEqual([]);
    const [ask] = await openAsks(store.database, runId);
    expect(ask).toMatchObject({ question: "Which mark?", node: "ask" });
    const answers = await Promise.all([
      answerAsk(store, ask?.activityId ?? 0, "B+", "teacher"),
      answerAsk(other, ask?.activityId ?? 0, "C", "other teacher"),
    ]);
    expect(answers.map(({ kind }) => kind).sort()).toEqual(["committed", "dropped"]);
    expect(await openAsks(store.database, runId)).toEqual([]);
    expect(await count("asks where run_id = $1 and state = 'answered' and answered_by is not null", runId)).toBe(1);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success" });
  });

  it.each(["eager", "superstep"] as const)("open questions are answered in any order (%s)", async (scheduling) => {
    const asks = ["a", "b", "c"];
    const together = program(
      {
        first: { kind: "assign", value: { from: "literal", text: "read this" }, select: "all" },
        ...Object.fromEntries(asks.map((id): [string, Node] => [id, { kind: "ask", question: `${id}?` }])),
        all: { kind: "join", groups: { "": { mode: "all" } } },
        end: { kind: "end", outcome: "success" },
      },
      [
        ...asks.map((to) => ({ from: "first", to, on: "ok" })),
        ...asks.map((from) => ({ from, to: "all", on: "ok" })),
        { from: "all", to: "end", on: "ok" },
      ],
      { scheduling },
    );
    const { runId, jobs } = await createRun(store, { definition: definition({ main: together }) });
    expect((await perform(store, only(jobs))).jobs).toEqual([]);
    const open = await openAsks(store.database, runId);
    expect(open.map(({ node, text }) => [node, text])).toEqual(asks.map((id) => [id, "read this"]));
    // The last question is answered first, then the others by two processes at the same time.
    const [a, b, c] = open.map(({ activityId }) => activityId);
    const answers = [await answerAsk(other, c ?? 0, "from c", null)];
    expect(await openAsks(store.database, runId)).toHaveLength(2);
    answers.push(
      ...(await Promise.all([answerAsk(store, a ?? 0, "from a", null), answerAsk(other, b ?? 0, "from b", null)])),
    );
    expect(answers.map(({ kind }) => kind)).toEqual(["committed", "committed", "committed"]);
    expect(await openAsks(store.database, runId)).toEqual([]);
    const run = await getRun(store.database, runId);
    expect(run?.status).toBe("success");
    if (scheduling === "superstep") expect(run?.result).toBe("from c");
    await replaysExactly(runId);
  });

  it("a question without an answer expires", async () => {
    const hurried = program(
      {
        ask: { kind: "ask", question: "Well?", timeoutMs: 1, otherwise: "no answer" },
        end: { kind: "end", outcome: "success" },
      },
      [{ from: "ask", to: "end", on: "ok" }],
    );
    const { runId } = await createRun(store, { definition: definition({ main: hurried }) });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await expireAsks(store);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result: "no answer" });
    expect(await count("asks where run_id = $1 and state = 'expired'", runId)).toBe(1);
  });

  it("a passed deadline ends the run, once", async () => {
    const { runId } = await createRun(store, { definition: definition({ main: onePrompt }), caps: { timeMs: 1 } });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await enforceDeadlines(store);
    expect(await getRun(store.database, runId)).toMatchObject({
      status: "failed",
      reason: { code: "LIMIT_TIME" },
      deadline: null,
    });
    const before = (await getRun(store.database, runId))?.rev;
    await enforceDeadlines(store);
    expect((await getRun(store.database, runId))?.rev).toBe(before);
  });

  it("a cancellation of a run that does not exist is refused", async () => {
    await expect(cancelRun(store, "nobody", "x")).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
  });
});
