// Runs that wait for a slot of their tenant, on a real store and without workers: which runs start, and in which order.

import type { Node } from "@markmill/engine";
import { type AdmittedRuns, admitAtOnce, admitRuns, quietActivities, readyJobs } from "@markmill/store/machine";
import { afterEach, beforeEach, expect, it } from "vitest";
import { askingWorkflow, startApi } from "../support/api.ts";
import { definitionOf, startMill } from "../support/mill.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { beat, getRun, openBudget, openStore, type Store } from "../support/store.ts";
import { chain, definition, oneAsk, onePrompt, program } from "./store-programs.ts";

const places = 3;
let database: TestDatabase;
let store: Store;

beforeEach(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one", runsPerTenant: places });
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

const inline = definition({ main: chain(2) });
const prompt = definition({ main: onePrompt });
const question = definition({ main: oneAsk });

async function start(count: number, more: object = {}, tenant = "default") {
  const started = [];
  for (let left = count; left > 0; left -= 1) {
    started.push(await store.as(tenant).runs.create({ definition: inline, takesTurn: true, ...more }));
  }
  return started;
}

const admit = (most: number | null = places): Promise<AdmittedRuns> =>
  admitRuns(store, most, (error) => {
    throw error;
  });
const idsOf = (started: readonly { readonly runId: string }[]) => started.map(({ runId }) => runId);
const enqueued = ({ jobs }: Pick<AdmittedRuns, "jobs">) => jobs.map(({ runId }) => runId);
const queued = async (ids: readonly string[]) =>
  await Promise.all(ids.map(async (id) => (await getRun(store.database, id))?.queued));
const cancel = (id = "", tenant = "default") => store.as(tenant).runs.cancel(id, "enough");

it("a tenant runs as many runs as it has slots, and the others are queued without jobs", async () => {
  const started = await start(5);
  expect(started.map(({ jobs }) => jobs.length)).toEqual([1, 1, 1, 0, 0]);
  expect(await queued(idsOf(started))).toEqual([false, false, false, true, true]);
  expect(await admit()).toEqual({ jobs: [], waiting: true });
  const others = await start(4, {}, "other");
  expect(others.map(({ jobs }) => jobs.length)).toEqual([1, 1, 1, 0]);
});

it("many parallel starts use no more than the slots", async () => {
  const started = await Promise.all(Array.from({ length: 40 }, () => start(1)));
  expect(started.flat().filter(({ jobs }) => jobs.length > 0)).toHaveLength(places);
});

it.each([
  ["inline", inline],
  ["prompt", prompt],
])("queued runs start first in, first out, as slots become free: %s", async (_, wanted) => {
  const ids = idsOf(await start(7, { definition: wanted }));
  await cancel(ids[1]);
  expect(enqueued(await admit())).toEqual(ids.slice(3, 4));
  await cancel(ids[0]);
  await cancel(ids[3]);
  const admitted = await admit();
  expect(enqueued(admitted)).toEqual(ids.slice(4, 6));
  // The jobs are those of the ready activities.
  expect(admitted.jobs).toEqual(await readyJobs(store.database.calm, ids.slice(4, 6)));
  expect(await queued(ids.slice(4))).toEqual([false, false, true]);
  for (const id of ids.slice(0, 6)) await cancel(id);
  expect(enqueued(await admit())).toEqual(ids.slice(6));
  expect(await admit()).toEqual({ jobs: [], waiting: false });
});

it("a start that arrives while others are queued is queued behind them", async () => {
  const ids = idsOf(await start(5));
  for (const id of ids.slice(0, 3)) await cancel(id);
  // The figures of the tenant are cached for a moment.
  await new Promise((resolve) => setTimeout(resolve, 60));
  const [late] = await start(1);
  expect(late?.jobs).toEqual([]);
  expect(enqueued(await admit())).toEqual([...ids.slice(3), late?.runId]);
});

it("a cancelled, stopped or deleted run leaves the queue, and a stopped run starts when it is resumed", async () => {
  const ids = idsOf(await start(7));
  const { runs } = store.as("default");
  await cancel(ids[3]);
  await runs.stop(ids[4] ?? "");
  await cancel(ids[5]);
  await runs.delete(ids[5] ?? "");
  expect((await runs.get(ids[3] ?? ""))?.status).toBe("cancelled");
  expect(await queued(ids.slice(3, 5))).toEqual([false, false]);
  for (const id of ids.slice(0, 3)) await cancel(id);
  expect(enqueued(await admit())).toEqual(ids.slice(6));
  const resumed = await runs.resume(ids[4] ?? "");
  expect(resumed.jobs.map(({ runId }) => runId)).toEqual([ids[4]]);
  expect(await admit()).toEqual({ jobs: [], waiting: false });
});

it("a run with a waiting caller starts at once, whatever slots are free", async () => {
  const ids = idsOf(await start(places + 2, { definition: prompt }));
  const last = ids.at(-1) ?? "";
  const jobs = await admitAtOnce(store, last);
  expect(jobs.map(({ runId }) => runId)).toEqual([last]);
  expect(await queued(ids.slice(-2))).toEqual([true, false]);
  expect(await admitAtOnce(store, last)).toEqual([]);
});

it("a run that waits for a person frees its slot, and does not block the queue", async () => {
  await start(places, { definition: question });
  const ids = idsOf(await start(4));
  expect(enqueued(await admit())).toEqual(ids.slice(0, 3));
});

it("runs of a class have their own slots", async () => {
  await openBudget(store.database, "class", { nanodollars: null, tokens: null }, "batch");
  await start(places, { budgets: ["class"] });
  // The figures of the tenant are cached for a moment.
  await new Promise((resolve) => setTimeout(resolve, 60));
  const others = await start(places + 1);
  expect(others.map(({ jobs }) => jobs.length)).toEqual([1, 1, 1, 0]);
  expect(await admit()).toEqual({ jobs: [], waiting: true });
  await cancel(others[0]?.runId);
  expect(enqueued(await admit())).toEqual([others.at(-1)?.runId]);
});

it("a queued run whose question is answered starts at once, and its ready activities are found if their jobs are lost", async () => {
  await start(places);
  const note: Node = { kind: "assign", value: { from: "literal", text: "noted" } };
  const askThenNote = program(
    { ask: { kind: "ask", question: "Which mark?" }, note, end: { kind: "end", outcome: "success" } },
    [
      { from: "ask", to: "note", on: "ok" },
      { from: "note", to: "end", on: "ok" },
    ],
  );
  const [asking] = idsOf(await start(1, { definition: definition({ main: askThenNote }) }));
  expect(await queued([asking ?? ""])).toEqual([true]);
  const [ask] = await store.as("default").asks.list(asking ?? "");
  const answered = await store.as("default").asks.answer(ask?.activityId ?? 0, "yes", null);
  expect(answered.kind).toBe("committed");
  expect(await queued([asking ?? ""])).toEqual([false]);
  const quiet = await quietActivities(store.database, 0);
  expect(quiet.map(({ runId }) => runId)).toContain(asking);
  expect(answered.jobs.map(({ runId }) => runId)).toContain(asking);
});

it("a repeated start returns the same queued run, and enqueues nothing", async () => {
  await start(places);
  const [first] = await start(1, { idempotencyKey: "k", requestHash: "h" });
  const [again] = await start(1, { idempotencyKey: "k", requestHash: "h" });
  expect(again).toEqual({ runId: first?.runId, created: false, jobs: [] });
});

it("a queued run is neither lost nor due, and a started run without a job is found as lost", async () => {
  const ids = idsOf(await start(places + 2, { definition: prompt }));
  const more = idsOf(await start(places + 2, {}, "other"));
  for (const id of ids.slice(0, places)) await cancel(id);
  for (const id of more.slice(0, places)) await cancel(id, "other");
  expect(await store.oldestDue(["control", "prompt"])).toBe(0);
  expect(await quietActivities(store.database, 0)).toEqual([]);
  const admitted = enqueued(await admit());
  expect(new Set(admitted)).toEqual(new Set([...ids.slice(places), ...more.slice(places)]));
  const quiet = await quietActivities(store.database, 0);
  expect(new Set(quiet.map(({ runId }) => runId))).toEqual(new Set(admitted));
});

it("two supervisors that both believe to lead start no run twice", async () => {
  const ids = idsOf(await start(30));
  for (const id of ids.slice(0, places)) await cancel(id);
  const both = await Promise.all([admit(8), admit(8), admit(8)]);
  const all = both.flatMap(enqueued);
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(8);
});

it("a tenant without a configured limit has twice the slots of the living workers", async () => {
  const open = await openStore({ url: database.url, worker: "two" });
  /** The living workers had a heartbeat within the last hour, so that a slow machine changes nothing. */
  const works = async (id: string, slots: number, heard: string) => {
    await beat(store.database, { id, host: "h", info: { slots } });
    await store.database.calm.query(
      "update workers set heartbeat_at = clock_timestamp() + $2::interval where id = $1",
      [id, heard],
    );
  };
  await works("a", 40, "1 hour");
  await works("b", 10, "1 hour");
  await works("dead", 1_000, "-1 minute");
  const started = await Promise.all(
    Array.from({ length: 110 }, () => open.as("default").runs.create({ definition: inline, takesTurn: true })),
  );
  expect(started.filter(({ jobs }) => jobs.length > 0)).toHaveLength(100);
  expect(enqueued(await admit(null))).toEqual([]);
  await works("c", 3, "1 hour");
  expect(enqueued(await admit(null))).toHaveLength(6);
  await open.close();
});

it("waiting for a slot does not count for a time limit", async () => {
  await start(places);
  const [queuedRun] = await start(1, { caps: { timeMs: 60_000 } });
  const id = queuedRun?.runId ?? "";
  const deadline = async () =>
    (
      await store.database.calm.query<{ left: string }>(
        "select extract(epoch from deadline - clock_timestamp())::text as left from runs where id = $1",
        [id],
      )
    ).rows[0]?.left;
  expect(await deadline()).toBe("Infinity");
  await store.database.calm.query("update runs set created_at = created_at - interval '1 hour' where id = $1", [id]);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(enqueued(await admit(places + 1))).toEqual([id]);
  const left = Number(await deadline());
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(60);
  const { entries } = await store.as("default").runs.history(id);
  expect(entries.map((entry) => (entry.kind === "event" ? entry.event.type : ""))).toEqual([
    "run.started",
    "run.admitted",
  ]);
  expect((await store.as("default").runs.replay(id)).differences).toEqual([]);
});

it("the API reports that a run is queued, and the supervisor starts it as soon as a slot is free", async () => {
  const mill = await startMill({
    backend: "postgres",
    script: 'rules: [{ when: { pattern: "." }, reply: "x" }]',
    worker: false,
    environment: { RUNS_PER_TENANT: "1" },
  });
  const served = await startApi(mill);
  const client = await served.client("grader");
  const asking = definitionOf({ "ask.md": askingWorkflow });
  const begin = async () => {
    await mill.store.as("default").definitions.save(asking);
    return (await client.startRun({ body: { definition: asking.hash } })).id;
  };
  const isQueued = async (id: string) => (await client.getRun({ params: { id } })).queued;
  const first = await begin();
  const second = await begin();
  const third = await begin();
  expect([await isQueued(first), await isQueued(second), await isQueued(third)]).toEqual([false, true, true]);
  const { items } = await client.listRuns({ query: {} });
  expect(items.filter(({ queued }) => queued).map(({ id }) => id)).toEqual([third, second]);
  expect((await mill.store.board.tree(second))?.runs.map((run) => run.queued)).toEqual([true]);
  expect((await client.cancelRun({ params: { id: second } })).status).toBe("cancelled");
  await client.cancelRun({ params: { id: first } });
  await expect.poll(() => isQueued(third)).toBe(false);
  await served.close();
  await mill.close();
});
