// The database cost of a step does not grow with the number of other runs, also in young tables without statistics.
import type { Edge, JobSpec, Node } from "@markmill/engine";
import { afterAll, beforeAll, expect, it } from "vitest";
import { classOf } from "../support/class.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  admitWorks,
  createReadConversation,
  createRun,
  deleteOldRuns,
  findCall,
  openStore,
  reserve,
  type Store,
  saveCall,
} from "../support/store.ts";
import { claimed, definition, only, program, succeeded } from "./store-programs.ts";

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

const prompt = (text: string): Node => ({ kind: "prompt", text: { from: "literal", text }, agent: "reader" });
const questions = ["first", "second", "third"];
const asking = program(
  { ...Object.fromEntries(questions.map((name) => [name, prompt(name)])), end: { kind: "end", outcome: "success" } },
  questions.map((from, i): Edge => ({ from, to: questions[i + 1] ?? "end", on: "ok" })),
);
const others = 300;

/** The rows and index entries that all connections have read so far, in all tables. */
async function read(of = store): Promise<number> {
  // Each connection publishes its counts on request. All connections are asked in parallel, so that each is asked once.
  const { hot, calm } = of.database;
  await Promise.all(
    [hot, calm].flatMap((pool) =>
      [...Array(pool.totalCount)].map(() => pool.query("select pg_stat_force_next_flush(), pg_sleep(0.05)")),
    ),
  );
  const { rows } = await calm.query<{ n: number }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes) + (select sum(seq_tup_read) from pg_stat_user_tables) as n`,
  );
  return Number(rows[0]?.n);
}

/** All store requests of a worker for one prompt, without those to the queue. */
async function answer(job: JobSpec): Promise<readonly JobSpec[]> {
  const { run, activity, ...claim } = await claimed(store, job);
  const { database } = store;
  const call = { activityId: activity.id, callIndex: 0, claim: activity.claim };
  const key = { ...call, requestHash: `hash ${activity.id}` };
  const usage = { promptTokens: 1, completionTokens: 1, characters: 8, nanodollars: 1 };
  if (activity.work.kind !== "prompt") throw new Error(`expected a prompt, got ${activity.work.kind}`);
  await createReadConversation(database, 1_000_000)(activity.work.thread);
  expect(await findCall(database, key)).toBeNull();
  const charge = { runId: run.id, rootId: run.rootId, model: "m", ...usage };
  await reserve(database, call, run.budgets, { nanodollars: 1, tokens: 2 }, undefined, charge);
  await saveCall(database, run, { key, model: "m", request: null, reply: { text: "yes" }, usage });
  const event = succeeded(store, { ...claim, run, activity }, { kind: "replied", text: "yes" });
  return (await store.commit({ run, source: activity, event })).jobs;
}

it("a claim, a paid call and a commit read only rows of their own run", async () => {
  const asked = definition({ "asking.wf.md": asking });
  const open: JobSpec[] = [];
  for (let made = 0; made < others; made++) {
    const { jobs } = await createRun(store, { definition: asked });
    open.push(only(await answer(only(jobs))));
  }
  const job = only(open.slice(-1));
  const before = await read();
  expect(await answer(job)).toHaveLength(1);
  const after = await read();
  expect(after - before).toBeGreaterThan(0);
  expect(after - before).toBeLessThan(others / 3);
});

it("a search for old runs reads no run that ended recently", async () => {
  const { rowCount: ended } = await store.database.calm.query(
    "update runs set status = 'success', ended_at = clock_timestamp()",
  );
  expect(ended).toBe(others);
  const day = 24 * 60 * 60_000;
  const before = await read();
  expect(await deleteOldRuns(store.database, day)).toBe(0);
  expect((await read()) - before).toBeLessThan(others / 3);
  expect(await deleteOldRuns(store.database, 0, others)).toBe(others);
});

const waiting = 300;
const places = 20;
const finished = 3_000;

it("a pass over batches reads running and startable attempts, and none that wait or are graded", async () => {
  const own = await freshDatabase();
  const young = await openStore({ url: own.url });
  try {
    const look = () =>
      admitWorks(young, {
        most: 1_000,
        enqueue: async () => undefined,
        onSkipped: (error) => {
          throw error;
        },
      });
    expect(await look()).toMatchObject({ admitted: 0, busy: false });
    const asked = definition({ "asking.wf.md": asking });
    const tenant = young.as("default");
    const { id } = await tenant.batches.save(await classOf(tenant, asked, waiting, { concurrency: places }));
    await graded(young, id);
    expect(await look()).toMatchObject({ admitted: places, busy: true });

    const full = await read(young);
    expect(await look()).toMatchObject({ admitted: 0, busy: true });
    const seen = await read(young);
    expect(seen - full).toBeGreaterThan(places);
    expect(seen - full).toBeLessThan(5 * places);

    const ended = 3;
    await young.database.calm.query(
      `update runs set status = 'success', phase = 'ended', ended_at = clock_timestamp() where id in (
         select run_id from batch_runs where batch_id = $1 and admitted_at is not null and end_seen_at is null order by id limit $2)`,
      [id, ended],
    );
    const free = await read(young);
    expect(await look()).toMatchObject({ admitted: ended, busy: true });
    // Recently started attempts stay in the index of waiting ones until no older snapshot is open.
    expect((await read(young)) - free).toBeLessThan(waiting);
  } finally {
    await young.close();
    await own.drop();
  }
});

/** The state after as many graded submissions, of this class and of others. */
async function graded({ database: { calm } }: Store, batch: string): Promise<void> {
  await calm.query(
    `with many as (
       select case when n % 2 = 0 then $1 else 'other-' || n % 20 end as batch, 'graded-' || n as name from generate_series(1, $2::integer) n
     ), works as (
       insert into batch_works (batch_id, key, tenant, pseudonym, members, attempt, counts, label, sources, lateness, hash, content)
       select batch, name, 'default', name, '{}', 1, true, name, '{}', '{}', 'hash', '{}' from many
     ), tries as (
       insert into batch_runs (batch_id, work, try, run_id, definition_hash, rubric_hash, hash, why, admitted_at, end_seen_at)
       select batch, name, 1, name, 'hash', 'hash', 'hash', 'first', now(), now() from many
     )
     insert into runs (id, root_id, definition_hash, program, name, status, phase, epoch, rev, kept, depth, tenant, ended_at)
     select name, name, 'hash', 'main', 'main', 'success', 'ended', 0, 1, '{}', 0, 'default', now() from many`,
    [batch, finished],
  );
}
