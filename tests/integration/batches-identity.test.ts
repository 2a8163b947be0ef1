// Identity of students when the keys of a class change: marks, releases and paid runs stay with the students. Real store, no workers.
import { describe, expect, it } from "vitest";
import { classOf, endWithGrade, gradeWith, workOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import { killedAtStatement } from "../support/killed-transaction.ts";
import type { NewBatch, NewWork, Store, TenantStore } from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });

openStoreForEach((made) => {
  ({ store, tenant } = made);
});

const admit = () => admitAll(store);
const works = async (id: string) => (await tenant.batches.works(id, {}, { limit: 200 })).works;
const members = async (id: string) => (await tenant.batches.members(id)).members;
async function gradeAll(id: string): Promise<void> {
  await admit();
  for (const { standing, try: last } of await works(id))
    if (standing.is === "running") await endWithGrade(store, last?.runId ?? "", gradeWith({ tests: 6, style: 3 }));
}

const ada = { key: "ada@x.org", name: "Ada Lovelace", email: "ada@x.org" };
const alan = { key: "alan@x.org", name: "Alan Turing", email: "alan@x.org" };
const numbered = [
  { ...ada, key: "1001", id: "1001" },
  { ...alan, key: "1002", id: "1002" },
];
const handedIn = async (key: string, by: readonly string[], content: string, more: Partial<NewWork> = {}) => ({
  ...(await workOf(tenant, 1, content)),
  key,
  by,
  label: key,
  ...more,
});
const saved = async (more: Partial<NewBatch>): Promise<NewBatch> => ({
  ...(await classOf(tenant, flow, 0)),
  whole: true,
  ...more,
});

/** Two students, each with an override and a release. */
async function gradedClass(more: Partial<NewBatch> = {}): Promise<string> {
  const { id } = await tenant.batches.save(
    await saved({
      members: [ada, alan],
      works: [await handedIn("ada@x.org#1", ["ada@x.org"], "a"), await handedIn("alan@x.org#1", ["alan@x.org"], "b")],
      ...more,
    }),
  );
  await gradeAll(id);
  for (const { key } of await works(id)) {
    const said = { work: key, by: "prof" };
    await tenant.batches.record(id, { ...said, kind: "override", criterion: "style", points: 1, reason: "short" });
    await tenant.batches.record(id, { ...said, kind: "released" });
  }
  return id;
}
const kept = {
  counts: true,
  tries: 1,
  standing: { is: "succeeded" },
  grade: { total: 7, overrides: [{ points: 1 }], released: { total: 7 } },
};

describe("a roster that gains a column", () => {
  it("keeps overrides, releases and runs, and grades nothing again", async () => {
    const id = await gradedClass();
    const again = await saved({
      members: numbered,
      works: [await handedIn("1001#1", ["1001"], "a"), await handedIn("1002#1", ["1002"], "b")],
    });
    expect(await tenant.batches.save(again)).toMatchObject({ id, added: 0, changed: 0, dropped: 0 });
    expect(await works(id)).toMatchObject([
      { key: "ada@x.org#1", by: ["ada@x.org"], ...kept },
      { key: "alan@x.org#1", by: ["alan@x.org"], ...kept },
    ]);
    expect(await members(id)).toMatchObject([
      { key: "ada@x.org", id: "1001", name: "Ada Lovelace" },
      { key: "alan@x.org", id: "1002" },
    ]);
    expect(await admit()).toMatchObject({ admitted: 0 });
    // A repeated save changes nothing.
    expect(await tenant.batches.save(again)).toMatchObject({ added: 0, changed: 0, dropped: 0 });
    // The old roster is saved again.
    expect(
      await tenant.batches.save(
        await saved({ members: [ada, alan], works: [await handedIn("ada@x.org#1", ["ada@x.org"], "a")] }),
      ),
    ).toMatchObject({ added: 0, dropped: 1 });
  });

  it("keeps them also if the class is sent in pieces that use the new keys", async () => {
    const id = await gradedClass();
    const part = { ...(await saved({ members: [], works: [] })), whole: false };
    await tenant.batches.save({ ...part, members: numbered });
    const one = [await handedIn("1001#1", ["1001"], "a")];
    const other = [await handedIn("1002#1", ["1002"], "b changed")];
    expect(await tenant.batches.save({ ...part, works: one })).toMatchObject({ added: 0, changed: 0 });
    expect(await tenant.batches.save({ ...part, works: other })).toMatchObject({ added: 0, changed: 1 });
    expect(await tenant.batches.save({ ...part, whole: ["1001#1", "1002#1"] })).toMatchObject({ dropped: 0 });
    expect(await works(id)).toMatchObject([{ ...kept }, { key: "alan@x.org#1", counts: true, tries: 2 }]);
    expect(
      await tenant.batches.save({ ...part, whole: ["1001#1"], span: { after: null, upTo: "1002#1" } }),
    ).toMatchObject({
      dropped: 1,
    });
  });
});

it("a kill between any two statements of a save leaves the old class or the new one, and the same save continues", async () => {
  const id = await gradedClass();
  // Keys change, a submission changes, a student joins, and one submission is withdrawn.
  const grace = { key: "1003", id: "1003", name: "Grace Hopper" };
  const next = await saved({
    members: [...numbered, grace],
    works: [await handedIn("1001#1", ["1001"], "other"), await handedIn("1003#1", ["1003"], "new")],
  });
  const tables = ["batches", "batch_rubrics", "batch_members", "batch_works", "batch_runs", "grade_events", "budgets"];
  const dump = async () => {
    const all = tables.map(async (table) => {
      const { rows } = await store.database.calm.query<{ row: string }>(
        `select (to_jsonb(x) - 'created_at')::text as row from ${table} x order by 1`,
      );
      return [table, rows.map(({ row }) => row)] as const;
    });
    return Object.fromEntries(await Promise.all(all));
  };
  const before = await dump();
  const seen: string[] = [];
  for (let at = 1; ; at += 1) {
    const { died, statement } = await killedAtStatement(store.database.calm, at, "before", () =>
      tenant.batches.save(next),
    );
    if (!died) break;
    seen.push(statement);
    expect(await dump(), `killed before: ${statement}`).toEqual(before);
  }
  expect(seen.length).toBeGreaterThan(10);
  expect(seen.at(-1)).toBe("commit");
  const after = await dump();
  expect(after).not.toEqual(before);
  expect(await works(id)).toMatchObject([
    { key: "1003#1", counts: true, tries: 1 },
    { key: "ada@x.org#1", counts: true, tries: 2 },
    { key: "alan@x.org#1", counts: false, tries: 1 },
  ]);
  // The process was killed after the last statement and before its answer. The same save changes and doubles nothing.
  const { died } = await killedAtStatement(store.database.calm, seen.length, "after", () => tenant.batches.save(next));
  expect(died).toBe(true);
  expect(await dump()).toEqual(after);
  expect(await tenant.batches.save(next)).toMatchObject({ id, created: false, added: 0, changed: 0, dropped: 0 });
  expect(await dump()).toEqual(after);
});

describe("a group submission", () => {
  const team = async (key: string, group: string, by: readonly string[], content = "team") =>
    await handedIn(key, by, content, { group });

  it("stays with its students when the group is renamed or a student joins", async () => {
    const by = ["ada@x.org", "alan@x.org"];
    const id = await gradedClass({ works: [await team("Team Blue#1", "Team Blue", by)] });
    const renamed = await saved({ members: [ada, alan], works: [await team("Team Red#1", "Team Red", by)] });
    expect(await tenant.batches.save(renamed)).toMatchObject({ added: 0, changed: 0, dropped: 0 });
    expect(await works(id)).toMatchObject([{ key: "Team Blue#1", group: "Team Red", ...kept }]);
    const grace = { key: "grace", name: "Grace Hopper" };
    const joined = await saved({
      members: [ada, alan, grace],
      works: [await team("all three", "Team Red", [...by, "grace"])],
    });
    expect(await tenant.batches.save(joined)).toMatchObject({ added: 0, changed: 0, dropped: 0 });
    expect(await works(id)).toMatchObject([{ key: "Team Blue#1", by: [...by, "grace"], ...kept }]);
  });

  it("never takes the submission of other students because its key is the same", async () => {
    const id = await gradedClass();
    const swapped = await saved({
      members: [ada, alan],
      works: [await handedIn("ada@x.org#1", ["alan@x.org"], "new")],
    });
    expect(await tenant.batches.save(swapped)).toMatchObject({ dropped: 1 });
    const [first, second] = await works(id);
    expect(first).toMatchObject({ key: "ada@x.org#1", by: ["ada@x.org"], counts: false });
    expect(second).toMatchObject({ key: "alan@x.org#1", by: ["alan@x.org"], counts: true, tries: 2 });
  });
});

describe("a student who may be another person", () => {
  const stranger = { key: "1001", id: "1001", name: "Grace Hopper" };
  const numberedClass = async () =>
    await gradedClass({
      members: [{ ...ada, key: "1001", id: "1001" }],
      works: [await handedIn("1001#1", ["1001"], "a")],
    });

  it("is refused with both names, and nothing is saved", async () => {
    const id = await numberedClass();
    const upload = await saved({ members: [stranger], works: [await handedIn("1001#1", ["1001"], "other")] });
    const refused = tenant.batches.save(upload);
    await expect(refused).rejects.toMatchObject({ code: "STORE_BATCH_REFUSED" });
    await expect(refused).rejects.toThrow(/Grace Hopper \(1001\) could be Ada Lovelace \(1001\)/);
    expect(await works(id)).toMatchObject([{ ...kept }]);
    expect(await members(id)).toMatchObject([{ name: "Ada Lovelace" }]);
  });

  it("becomes the stored student or a new one, as the teacher decides", async () => {
    const id = await numberedClass();
    const work = await handedIn("1001#1", ["1001"], "a");
    await tenant.batches.save(
      await saved({ members: [{ ...stranger, was: null }], works: [{ ...work, label: "new" }] }),
    );
    expect(await works(id)).toMatchObject([
      { key: "1001#1", by: ["1001"], counts: false, grade: { overrides: [{ points: 1 }] } },
      { key: "1001#1 (2)", by: ["1001 (2)"], counts: true, label: "new", grade: null },
    ]);
    // The decision is stored and applies to later saves.
    expect(await tenant.batches.save(await saved({ members: [stranger], works: [work] }))).toMatchObject({ added: 0 });
    await tenant.batches.save(
      await saved({ members: [{ ...stranger, name: "Ada King", was: "1001" }], works: [work] }),
    );
    expect(await members(id)).toMatchObject([{ key: "1001", name: "Ada King" }, { key: "1001 (2)" }]);
    expect((await works(id))[0]).toMatchObject({ key: "1001#1", ...kept });
  });
});

it("a batch of an earlier version with keys of groups and addresses continues", async () => {
  const by = ["ada@x.org", "alan@x.org"];
  const id = await gradedClass({ works: [await handedIn("Team Blue#1", by, "team", { group: "Team Blue" })] });
  // These are the columns after the migration.
  await store.database.calm.query("update batch_works set counts_for = null, called = null");
  await store.database.calm.query("update batch_members set aliases = '{}'");
  const now = await saved({
    members: numbered,
    works: [await handedIn("1001+1002#1", ["1001", "1002"], "team", { countsFor: ["1001", "1002"] })],
  });
  expect(await tenant.batches.save(now)).toMatchObject({ id, added: 0, changed: 0, dropped: 0 });
  expect(await works(id)).toMatchObject([{ key: "Team Blue#1", by, countsFor: by, ...kept }]);
});

it("a submission that needs a decision needs a human, is not run, and continues after the decision", async () => {
  const work = await handedIn("ada@x.org#1", ["ada@x.org"], "a");
  const hash = work.content.is === "taken" ? work.content.hash : "";
  const waiting = {
    ...work,
    countsFor: ["ada@x.org"],
    content: { is: "undecided", hash, message: "a and b were handed in.", fix: "Remove one of them." } as const,
  };
  const { id } = await tenant.batches.save(await saved({ members: [ada], works: [waiting] }));
  expect(await admit()).toMatchObject({ admitted: 0 });
  expect(await works(id)).toMatchObject([
    {
      grade: { outcome: { is: "needs human", why: expect.arrayContaining(["a and b were handed in."]) }, total: null },
    },
  ]);
  const say = (more: object) => tenant.batches.record(id, { work: work.key, by: "prof", ...more } as never);
  await expect(say({ kind: "released" })).rejects.toThrow();
  await expect(say({ kind: "reviewed" })).rejects.toThrow(/no one has decided which submission counts/);
  // A mark belongs to the content that the teacher named. It counts when this content counts.
  await say({ kind: "override", criterion: "style", points: 1, reason: "so" });
  await tenant.batches.save(await saved({ members: [ada], works: [work] }));
  await gradeAll(id);
  expect(await works(id)).toMatchObject([
    { key: work.key, grade: { total: 7 }, marks: [{ criterion: "style", points: 1, fate: { is: "stands" } }] },
  ]);
});
