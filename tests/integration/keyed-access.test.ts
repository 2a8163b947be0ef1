// What a step costs the database does not grow with the other runs, also while the tables are young and nothing is known of them.
import type { Doorbell, Edge, Node } from "@markmill/engine";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { createRun, openStore, type Store } from "../support/store.ts";
import { definition, only, perform, program } from "./store-programs.ts";

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

/** Rows and index entries of runs and activities that were read until now, by everybody. */
async function read(): Promise<number> {
  // Each connection tells what it counted when it is asked to; all are asked at once, so that none is asked twice.
  await Promise.all(
    [...Array(store.database.hot.totalCount)].map(() =>
      store.database.hot.query("select pg_stat_force_next_flush(), pg_sleep(0.05)"),
    ),
  );
  const { rows } = await store.database.calm.query<{ n: number }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes where relname in ('runs', 'activities'))
       + (select sum(seq_tup_read) from pg_stat_user_tables where relname in ('runs', 'activities')) as n`,
  );
  return Number(rows[0]?.n);
}

const answer = async (ring: Doorbell) => (await perform(store, ring, { kind: "replied", text: "yes" })).rings;

it("a claim and a commit read the rows of their own run", async () => {
  const asked = definition({ "asking.wf.md": asking });
  const open: Doorbell[] = [];
  for (let made = 0; made < others; made++) {
    const { rings } = await createRun(store, { definition: asked });
    open.push(only(await answer(only(rings))));
  }
  const ring = only(open.slice(-1));
  const before = await read();
  expect(await answer(ring)).toHaveLength(1);
  const after = await read();
  expect(after - before).toBeGreaterThan(0);
  expect(after - before).toBeLessThan(others / 4);
});
