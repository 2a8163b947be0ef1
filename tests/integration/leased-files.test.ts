// SET, ASSIGN, CHECK and notes that use the files of a session are claimed like every activity with outside effects. A worker that
// continues late must not overwrite what the run has done since.
import type { Node } from "@markmill/engine";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { createRun, openStore, type Store } from "../support/store.ts";
import { claimed, definition, only, program, succeeded } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let other: Store;
const leaseMs = 600;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one", leaseMs });
  other = await openStore({ url: database.url, worker: "other", leaseMs });
});
afterAll(async () => {
  await store?.close();
  await other?.close();
  await database?.drop();
});

const file = { from: "file", path: "answer.txt" } as const;
const end: Node = { kind: "end", outcome: "success" };

it.each<[string, Node]>([
  [
    "a SET that writes one",
    { kind: "set", target: { to: "file", path: "answer.txt" }, value: { from: "literal", text: "42" } },
  ],
  ["a SET that reads one", { kind: "set", target: { to: "variable", name: "A" }, value: file }],
  ["an ASSIGN", { kind: "assign", value: file }],
  ["a CHECK", { kind: "check", condition: { op: "contains", left: file, right: { from: "literal", text: "42" } } }],
  ["a note", { kind: "prompt", role: "system", text: file }],
])("%s is leased to one worker at a time, and late results are dropped", async (_, node) => {
  const main = program({ work: node, end }, [
    { from: "work", to: "end", on: "ok" },
    { from: "work", to: "end", on: "fail" },
  ]);
  const enqueue = only((await createRun(store, { definition: definition({ main }) })).jobs);
  const first = await claimed(store, enqueue);
  expect(first.activity.leased).toBe(true);
  expect((await other.claim(enqueue)).kind).toBe("held");
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 100));
  const second = await claimed(other, enqueue);
  expect(second).toMatchObject({ interrupted: true, takeovers: 1 });
  const outcome = { kind: "done", files: { "answer.txt": "42" } } as const;
  const late = await store.commit({ run: first.run, source: first.activity, event: succeeded(store, first, outcome) });
  expect(late.kind).toBe("dropped");
  const kept = await other.commit({
    run: second.run,
    source: second.activity,
    event: succeeded(other, second, outcome),
  });
  expect(kept).toMatchObject({ kind: "committed", run: { state: { phase: { status: "success" } } } });
});
