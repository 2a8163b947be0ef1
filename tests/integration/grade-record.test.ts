// Grades by people, on a real store: two teachers, repeated requests, a class that is deleted meanwhile, a rubric that changes.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { classOf, classRubric, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { gradingFlow } from "../support/graded-class.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { admitWorks, openStore, type Store, type TenantStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { definition, onePrompt } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let tenant: TenantStore;
let id: string;
const flow = definition({ main: onePrompt });
const key = memberOf(1).key;

beforeEach(async () => {
  database = await migratedDatabase();
  store = await openStore({ url: database.url });
  tenant = store.as("default");
  ({ id } = await tenant.batches.save(await classOf(tenant, flow, 2)));
  await admitWorks(store, {
    most: 10,
    enqueue: async () => undefined,
    onSkipped: (error) => {
      throw error;
    },
  });
  const { works } = await tenant.batches.works(id);
  for (const work of works) await endWithGrade(store, work.try?.runId ?? "", gradeWith({ tests: 6, style: 3 }));
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

const say = (by: string, points: number | null, more: object = {}) =>
  tenant.batches.record(id, { work: key, by, kind: "override", criterion: "style", points, reason: "so", ...more });
const work = async () => {
  const found = await tenant.batches.work(id, key);
  if (found === null) throw new Error("the work is gone");
  return found;
};
const eventCount = async () =>
  (await store.database.calm.query<{ n: number }>("select count(*)::integer as n from grade_events")).rows[0]?.n;

describe("grades of two teachers", () => {
  it("a colleague's mark is replaced only by a teacher who has seen it", async () => {
    await say("ada", 1);
    const before = (await work()).etag;
    await expect(say("bob", 2)).rejects.toMatchObject({
      code: "STORE_GRADE_UNSEEN",
      message: expect.stringMatching(/ada gave style 1 points/),
    });
    await say("ada", 4);
    await expect(say("bob", 2, { seen: [before] })).rejects.toMatchObject({ code: "STORE_GRADE_CHANGED" });
    expect((await work()).grade?.total).toBe(10);
    await say("bob", 2, { seen: [(await work()).etag] });
    expect((await work()).grade?.total).toBe(8);
    expect(await eventCount()).toBe(3);
  });

  it("one of several parallel decisions on the same state is stored, and the others are refused", async () => {
    await say("ada", 1);
    const { etag } = await work();
    const said = await Promise.allSettled([0, 2, 3, 4].map((points) => say(`p${points}`, points, { seen: [etag] })));
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of said)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "STORE_GRADE_CHANGED" });
    expect(await eventCount()).toBe(2);
  });

  it("parallel marks of one unmarked criterion do not overwrite each other", async () => {
    const said = await Promise.allSettled([0, 1, 2, 3].map((points) => say(`p${points}`, points)));
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of said)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "STORE_GRADE_UNSEEN" });
  });

  it("an undo removes the caller's own last mark only", async () => {
    await say("ada", 1);
    await say("bob", 2, { seen: "any" });
    const undo = await say("ada", null);
    expect((await work()).grade?.total).toBe(8);
    const [first] = (await work()).marks;
    expect(first).toMatchObject({ by: "ada", fate: { is: "taken back", by: undo.id } });
    await expect(say("ada", null)).rejects.toMatchObject({
      code: "STORE_GRADE_REFUSED",
      message: expect.stringMatching(/ada has not overridden style.*bob gave/),
    });
    await say("bob", null);
    expect((await work()).grade).toMatchObject({ total: 9, overrides: [] });
  });

  it("a colleague's mark is undone once, by a teacher who has seen it", async () => {
    const { id: first } = await say("ada", 1);
    const { id: second } = await say("bob", 2, { seen: "any" });
    await expect(say("ada", null, { takesBack: second })).rejects.toMatchObject({ code: "STORE_GRADE_UNSEEN" });
    await say("ada", null, { takesBack: second, seen: [(await work()).etag] });
    expect((await work()).grade?.overrides).toMatchObject([{ id: first, by: "ada", points: 1 }]);
    await expect(say("ada", null, { takesBack: second, seen: "any" })).rejects.toMatchObject({
      code: "STORE_GRADE_REFUSED",
    });
    await expect(say("ada", null, { takesBack: 999 })).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED" });
  });
});

describe("a repeated grade request", () => {
  it("with the same key returns the same event, whatever happened since", async () => {
    const { etag } = await work();
    const asked = { idempotencyKey: "k1", seen: [etag] };
    const first = await say("ada", 1, asked);
    expect(await say("ada", 1, asked)).toEqual(first);
    await say("bob", 2, { seen: "any" });
    expect(await say("ada", 1, asked)).toEqual(first);
    expect(await eventCount()).toBe(2);
  });

  it("sent many times in parallel creates one event", async () => {
    const said = await Promise.all(Array.from({ length: 6 }, () => say("ada", 1, { idempotencyKey: "k2" })));
    expect(new Set(said.map((one) => one.id)).size).toBe(1);
    expect(await eventCount()).toBe(1);
  });

  it("with the key of another request is refused", async () => {
    await say("ada", 1, { idempotencyKey: "k3" });
    for (const other of [
      () => say("ada", 2, { idempotencyKey: "k3" }),
      () => say("bob", 1, { idempotencyKey: "k3" }),
      () => say("ada", 1, { idempotencyKey: "k3", work: memberOf(2).key }),
    ]) {
      await expect(other()).rejects.toMatchObject({ code: "STORE_KEY_REUSED" });
    }
    const raced = await Promise.allSettled(
      [1, 2].map((number) => say("ada", 1, { idempotencyKey: "k4", work: memberOf(number).key })),
    );
    expect(raced.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await eventCount()).toBe(2);
  });
});

describe("a grade event during the deletion of its class", () => {
  it("is refused and leaves no row behind", async () => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    try {
      await holder.query("begin");
      await holder.query("select 1 from markmill.batch_works where batch_id = $1 for update", [id]);
      // The deletion has deleted the batch and its events, and waits for the submissions.
      const deleted = tenant.batches.delete(id);
      const waiting =
        "select count(*)::integer as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      const blocked = async (most: number) => ((await holder.query<{ n: number }>(waiting)).rows[0]?.n ?? 0) >= most;
      await until(() => blocked(1));
      const said = say("ada", 1).then(
        () => "taken",
        (error: { code: string }) => error.code,
      );
      await until(() => blocked(2));
      await holder.query("commit");
      expect(await deleted).toBe(true);
      expect(await said).toBe("STORE_NOT_FOUND");
      expect(await eventCount()).toBe(0);
    } finally {
      await holder.end();
    }
  });

  it("is refused from the start of the deletion, also if the deletion was interrupted", async () => {
    await store.database.calm.query("update batches set deleting_at = clock_timestamp()");
    await expect(say("ada", 1)).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED", message: /being deleted/ });
    const again = await classOf(tenant, flow, 2);
    await expect(tenant.batches.save(again)).rejects.toMatchObject({ code: "STORE_BATCH_REFUSED" });
    await tenant.batches.resume(id);
    await say("ada", 1);
    expect(await eventCount()).toBe(1);
  });
});

describe("a changed rubric", () => {
  const save = async (rubric: typeof classRubric) =>
    tenant.batches.save({ ...(await classOf(tenant, flow, 2)), rubric });
  const [tests, style] = classRubric.criteria;
  if (tests === undefined || style === undefined) throw new Error("the rubric has two criteria");

  it("voids no grade, mark, review or release if only the order of its rows changed", async () => {
    await say("ada", 1);
    await tenant.batches.record(id, { work: key, by: "ada", kind: "released" });
    await save({ criteria: [style, tests] });
    expect((await work()).grade).toMatchObject({ outcome: { is: "graded" }, total: 7, released: { total: 7 } });
  });

  it("keeps marks that were stored under the hash of an earlier version, also in another order", async () => {
    const sorted = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(sorted);
      if (typeof value !== "object" || value === null) return value;
      const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
      return Object.fromEntries(members.map(([name, one]) => [name, sorted(one)]));
    };
    const old = createHash("sha256")
      .update(JSON.stringify(sorted(classRubric)))
      .digest("hex");
    for (const table of ["batches", "batch_runs"])
      await store.database.calm.query(`update ${table} set rubric_hash = $1`, [old]);
    await store.database.calm.query("update batch_rubrics set hash = $1", [old]);
    expect((await work()).grade).toMatchObject({ outcome: { is: "graded" }, total: 9 });
    await say("ada", 1);
    await save({ criteria: [style, tests] });
    expect((await work()).grade).toMatchObject({ outcome: { is: "graded" }, total: 7 });
    expect(await tenant.batches.regrade(id, { keys: [key] })).toEqual({ works: [key] });
  });

  it("is found for a batch from before the upgrade in the definition that graded its attempts", async () => {
    const words = { names: "Names tell everything" };
    const [before, after] = [gradingFlow(), gradingFlow("Judge it", undefined, words)];
    const rubricOf = ({ programs, root }: typeof before) => programs[root]?.rubric as unknown as typeof classRubric;
    const saved = await classOf(tenant, before, 1, { key: "old", rubric: rubricOf(before) });
    const { id: old } = await tenant.batches.save(saved);
    const first = (await tenant.batches.work(old, key))?.try;
    await admitWorks(store, { most: 10, enqueue: async () => undefined, onSkipped: () => undefined });
    const scored = { is: "scored", by: "llm", level: null, comment: "", evidence: [], tests: [], notes: [] } as const;
    const criteria = ["names", "pure"].map((one) => ({ ...scored, id: one, points: 1, confidence: 0.9 }));
    await endWithGrade(store, first?.runId ?? "", gradeWith({ tests: 0, style: 0 }, { criteria, most: 3 }));
    await tenant.batches.save({ ...saved, definition: after, rubric: rubricOf(after) });
    await store.database.calm.query("delete from batch_rubrics");
    expect((await tenant.batches.work(old, key))?.grade?.criteria).toMatchObject([
      { is: "not graded" },
      { is: "not graded" },
    ]);
    const migration = await readFile(
      new URL("../../packages/store/migrations/0030-grade-record.sql", import.meta.url),
      "utf8",
    );
    await store.database.calm.query(migration.slice(migration.indexOf("INSERT INTO")));
    expect((await tenant.batches.work(old, key))?.grade?.criteria).toMatchObject([
      { id: "names", is: "not graded" },
      { id: "pure", is: "scored", points: 1 },
    ]);
  });

  it("keeps the marks of unchanged criteria, and all marks when it changes back", async () => {
    await save({ criteria: [tests, { ...style, title: "Reads very well" }] });
    const changed = (await work()).grade;
    expect(changed).toMatchObject({
      outcome: { is: "needs human", why: ["style: graded with another version of the rubric"] },
      total: null,
    });
    expect(changed?.criteria[0]).toMatchObject({ is: "scored", points: 6 });
    await save(classRubric);
    expect((await work()).grade).toMatchObject({ outcome: { is: "graded" }, total: 9 });
  });
});
