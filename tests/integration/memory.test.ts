// Memory with a search by meaning: passages in Postgres, with the embedder of the definition.
import type { MemoryNeeds, Node, Program } from "@markmill/engine";
import { hashEmbedding, unitBytes } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Mill, startMill } from "../support/mill.ts";
import {
  callsOfRun,
  cancelRun,
  createRun,
  defaultTenant,
  forkRun,
  insertPassages,
  nearestPassages,
  spentOf,
} from "../support/store.ts";
import { definition, program } from "./store-programs.ts";

let mill: Mill;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: Yes. }" });
});
afterAll(async () => {
  await mill?.close();
});

const facts = [
  "The tide rises twice a day because of the moon and the sun.",
  "A loop in a program repeats its body until a condition holds.",
  "Copper conducts electricity better than iron and most metals.",
];

type Step = Omit<Extract<Node, { kind: "memory" }>, "kind" | "text"> & { readonly text: string };

/** Memory nodes in a row. */
function remembering(steps: readonly Step[], memory?: MemoryNeeds): Program {
  const nodes = steps.map(({ text, ...step }, at): [string, Node] => [
    `m${at}`,
    { kind: "memory", ...step, text: { from: "literal", text } },
  ]);
  const edges = steps.flatMap((_, at) =>
    (at === steps.length - 1 ? ["ok", "true", "false"] : ["ok"]).map((on) => ({
      from: `m${at}`,
      to: at === steps.length - 1 ? "end" : `m${at + 1}`,
      on,
    })),
  );
  const end: Node = { kind: "end", outcome: "success" };
  return program({ ...Object.fromEntries(nodes), end }, edges, memory === undefined ? {} : { memory });
}

async function run(main: Program) {
  const created = await createRun(mill.store, { definition: definition({ main }) });
  await mill.queues.enqueue(created.jobs);
  return await mill.ended(created.runId);
}

const inserting = facts.map((text): Step => ({ op: "insert", text }));
const found = (result: string | null) =>
  (result ?? "")
    .split(" \n")
    .filter((line) => line !== "")
    .map((line): { passage: string; similarity: number } => JSON.parse(line));
const passagesOf = async (where: string) => {
  const { rows } = await mill.store.database.calm.query<{ count: number }>(
    `select count(*)::integer as count from passages where ${where}`,
  );
  return rows[0]?.count;
};

describe.each([
  ["words, hashed", undefined],
  ["a model", { embedder: { kind: "model", model: "scripted", dimensions: 64 } }],
] as const)("memory with an embedder of %s", (_, memory) => {
  it("returns the nearest passages, nearest first", async () => {
    const ended = await run(remembering([...inserting, { op: "search", text: "moon and tide", top: 2 }], memory));
    expect(ended.status).toBe("success");
    const nearest = found(ended.result);
    expect(nearest).toHaveLength(2);
    expect(nearest[0]?.passage).toBe(facts[0]);
    expect(nearest[0]?.similarity).toBeGreaterThan(nearest[1]?.similarity ?? 1);
    expect(nearest[0]?.similarity).toBeLessThanOrEqual(1);
  });

  it("belongs to one run alone, and is deleted with it", async () => {
    const ended = await run(remembering([...inserting, { op: "search", text: facts[1] ?? "" }], memory));
    expect(found(ended.result)[0]).toMatchObject({ passage: facts[1], similarity: 1 });
    expect(await passagesOf(`root_id = '${ended.id}'`)).toBe(3);
    const other = await run(remembering([{ op: "search", text: facts[1] ?? "" }], memory));
    expect(other.result).toBe("");
    await mill.store.as(defaultTenant).runs.delete(ended.id);
    expect(await passagesOf(`root_id = '${ended.id}'`)).toBe(0);
  });
});

it("embeddings of a model are paid calls, stored and booked", async () => {
  const memory: MemoryNeeds = { embedder: { kind: "model", model: "scripted" } };
  const long = Array.from({ length: 100 }, (_, n) => `Fact number ${n}: ${"it is so and not otherwise. ".repeat(6)}`);
  const before = mill.requests().length;
  const ended = await run(
    remembering(
      [
        { op: "insert", text: long.join("\n\n") },
        { op: "search", text: "Fact number 77", top: 1 },
      ],
      memory,
    ),
  );
  expect(found(ended.result)[0]?.passage).toContain("Fact number 77:");
  const asked = mill.requests().slice(before);
  expect(asked.map(({ path }) => path)).toEqual(Array(8).fill("/v1/embeddings"));
  const spent = await spentOf(mill.store.database, ended.id);
  expect(spent).toMatchObject({ calls: 8, completionTokens: 0 });
  expect(spent.promptTokens).toBe(asked.reduce((sum, { usage }) => sum + (usage?.prompt ?? 0), 0));
  expect(await callsOfRun(mill.store.database, ended.id)).toHaveLength(8);
});

it("a named scope is shared by runs of its tenant, and a passage is deleted with the run that inserted it", async () => {
  const memory: MemoryNeeds = { scope: "course", embedder: { kind: "hash" } };
  const first = await run(remembering(inserting, memory));
  const second = await run(remembering([{ op: "search", text: "copper and iron", top: 1 }], memory));
  expect(found(second.result)[0]?.passage).toBe(facts[2]);
  const { rows } = await mill.store.database.calm.query(
    "select distinct tenant, scope from passages where root_id = $1",
    [first.id],
  );
  expect(rows).toEqual([{ tenant: defaultTenant, scope: "named:course" }]);
  const vector = unitBytes(hashEmbedding("copper and iron", 384));
  const scope = { scope: "named:course", embedder: "hash/384" };
  expect(await nearestPassages(mill.store.database, { ...scope, tenant: "other" }, vector, 5)).toEqual([]);
  const rust = "Iron that lies in the open air and in the rain rusts.";
  await run(remembering([{ op: "insert", text: rust }], memory));
  await mill.store.as(defaultTenant).runs.delete(first.id);
  const left = await nearestPassages(mill.store.database, { ...scope, tenant: defaultTenant }, vector, 5);
  expect(left.map(({ text }) => text)).toEqual([rust]);
});

it("named scopes are listed with their contents and deleted by name, without the memories of runs", async () => {
  const { memory } = mill.store.as("readers");
  const insert = async (scope: string, texts: readonly string[]) => {
    const { rows } = await mill.store.database.calm.query<{ id: number }>(
      `insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
       select 'readers', $1, 'r', 'e', -1 - (select count(*) from passages), x.n, x.text, '\\x0000803f'
       from unnest($2::text[]) with ordinality as x(text, n) order by x.n returning id`,
      [scope, texts],
    );
    return rows.map(({ id }) => id);
  };
  await insert("run:r", ["its own"]);
  const [first] = await insert("named:b", ["one", "two", "three"]);
  await insert("named:a", ["four"]);
  const listed = await memory.scopes({ limit: 1 });
  expect(listed).toMatchObject({
    items: [{ name: "a", passages: 1, characters: 4, runs: 1, embedders: ["e"] }],
    next: "a",
  });
  expect(await memory.scopes({ after: "a" })).toMatchObject({ items: [{ name: "b", passages: 3 }], next: null });
  const page = await memory.passages("b", { limit: 2 });
  expect(page.items.map(({ text }) => text)).toEqual(["one", "two"]);
  expect(page).toMatchObject({ items: [{ id: first, runId: "r", embedder: "e" }, {}], next: expect.any(String) });
  expect((await memory.passages("b", { after: page.next ?? "" })).items.map(({ text }) => text)).toEqual(["three"]);
  await expect(memory.passages("b", { after: "x" })).rejects.toMatchObject({ code: "STORE_PAGE_KEY" });
  expect([await memory.delete("b"), await memory.delete("b"), await memory.delete("r")]).toEqual([true, false, false]);
  expect((await memory.scopes()).items.map(({ name }) => name)).toEqual(["a"]);
  expect(await passagesOf("tenant = 'readers' and scope = 'run:r'")).toBe(1);
});

it("ties are returned in the order of insertion, and a repeated activity inserts once", async () => {
  const { runId, jobs } = await createRun(mill.store, { definition: definition({ main: remembering(inserting) }) });
  await mill.queues.enqueue(jobs);
  await mill.ended(runId);
  const { rows } = await mill.store.database.calm.query<{ id: number; claim: number }>(
    "update activities set state = 'claimed' where run_id = $1 and node = 'm0' returning id, claim",
    [runId],
  );
  const [activity = { id: 0, claim: 0 }] = rows;
  const scope = { tenant: "default", scope: `run:${runId}`, rootId: runId, embedder: "tied" };
  const vector = unitBytes([1, 0]);
  // The activity's own passage has the first position.
  const passages = ["taken", "a", "b", "c"].map((text) => ({ text, vector }));
  for (const _ of [1, 2]) expect(await insertPassages(mill.store.database, scope, activity, passages)).toBe(true);
  const stale = { ...activity, claim: activity.claim - 1 };
  expect(await insertPassages(mill.store.database, scope, stale, passages)).toBe(false);
  const nearest = await nearestPassages(mill.store.database, scope, vector, 2);
  expect(nearest).toEqual([
    { text: "a", similarity: 1 },
    { text: "b", similarity: 1 },
  ]);
});

it("`similar` returns whether a passage is near enough, and false for an empty memory", async () => {
  const end = async (steps: readonly Step[]) => {
    const ended = await run(remembering(steps));
    const { entries } = await mill.store.as(defaultTenant).runs.history(ended.id);
    const last = entries.findLast((entry) => entry.kind === "event" && entry.event.type === "activity.succeeded");
    return JSON.stringify(last).includes('"text":"true"');
  };
  expect(await end([{ op: "similar", text: facts[0] ?? "" }])).toBe(false);
  expect(await end([...inserting, { op: "similar", text: facts[0] ?? "" }])).toBe(true);
  expect(await end([...inserting, { op: "similar", text: "the moon" }])).toBe(false);
  expect(await end([...inserting, { op: "similar", text: "the moon", threshold: 0.1 }])).toBe(true);
});

it("a fork copies the run's memory up to its point", async () => {
  const main = remembering([...inserting, { op: "search", text: "the moon", top: 5 }]);
  const ended = await run(main);
  expect(found(ended.result)).toHaveLength(3);
  const forked = await forkRun(mill.store, defaultTenant, { of: ended.id, from: ["m2"] });
  await mill.queues.enqueue(forked.jobs);
  const again = await mill.ended(forked.runId);
  expect(found(again.result)).toEqual(found(ended.result));
  expect(await passagesOf(`root_id = '${forked.runId}'`)).toBe(3);
});

it("a fork, and a fork of a fork, copy what called workflows inserted", async () => {
  const callee = remembering(inserting);
  const end: Node = { kind: "end", outcome: "success" };
  const search: Node = { kind: "memory", op: "search", text: { from: "literal", text: "the moon" }, top: 5 };
  const main = program({ first: { kind: "call", program: "callee" }, search, end }, [
    { from: "first", to: "search", on: "ok" },
    { from: "search", to: "end", on: "ok" },
  ]);
  const created = await createRun(mill.store, { definition: definition({ main, callee }) });
  await mill.queues.enqueue(created.jobs);
  const ended = await mill.ended(created.runId);
  expect(found(ended.result)).toHaveLength(3);
  let of = created.runId;
  for (const _ of [1, 2]) {
    const forked = await forkRun(mill.store, defaultTenant, { of, from: ["search"] });
    await mill.queues.enqueue(forked.jobs);
    const again = await mill.ended(forked.runId);
    expect(found(again.result)).toEqual(found(ended.result));
    of = forked.runId;
  }
});

it("a fork of a cancelled run copies the embeddings that had arrived", async () => {
  const memory: MemoryNeeds = { embedder: { kind: "model", model: "scripted" } };
  const main = remembering([{ op: "insert", text: facts[0] ?? "" }], memory);
  const { runId } = await createRun(mill.store, { definition: definition({ main }) });
  await mill.store.database.calm.query(
    `insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply, prompt_tokens, completion_tokens,
       characters, nanodollars, attempt)
     select id, 0, 'h', run_id, root_id, 'scripted', '{}', '{"usage":{}}', 5, 0, 5, 5, 1 from activities where run_id = $1`,
    [runId],
  );
  await cancelRun(mill.store, runId, "enough");
  const forked = await forkRun(mill.store, defaultTenant, { of: runId, from: null });
  const { rows } = await mill.store.database.calm.query(
    "select call_index, request_hash, attempt, nanodollars::integer as nanodollars from calls where run_id = $1",
    [forked.runId],
  );
  expect(rows).toContainEqual({ call_index: 0, request_hash: "h", attempt: 0, nanodollars: 0 });
});
