// Grades of a class that changes: another rubric, other submissions, other students. On a real store, without workers.
import type { Rubric } from "@markmill/grading";
import { describe, expect, it } from "vitest";
import { classOf, classRubric, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import { deleteOldBatches, type Store, type TenantStore } from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });

openStoreForEach((made) => {
  ({ store, tenant } = made);
});

const admit = (most?: number) => admitAll(store, most);
const workOf = async (id: string, number: number) => await tenant.batches.work(id, memberOf(number).key);
async function endAll(id: string, points = { tests: 6, style: 3 }): Promise<void> {
  for (const { standing, try: last } of (await tenant.batches.works(id, {}, { limit: 200 })).works)
    if (standing.is === "running") await endWithGrade(store, last?.runId ?? "", gradeWith(points));
}

const [tests, style] = classRubric.criteria;
const smaller = { criteria: [tests, { ...style, points: 2 }] } as Rubric;

describe("another rubric", () => {
  it("changes no points of existing grades until the submissions are graded again", async () => {
    const batch = await classOf(tenant, flow, 3, { concurrency: 2 });
    const { id } = await tenant.batches.save(batch);
    await admit();
    await endAll(id);
    await tenant.batches.save({ ...batch, rubric: smaller });
    for (const number of [1, 2]) {
      expect(await workOf(id, number)).toMatchObject({
        proposal: { grade: { total: 9 } },
        grade: { outcome: { is: "needs human" }, points: null, total: null, most: 8 },
      });
    }
    await expect(
      tenant.batches.record(id, { work: memberOf(1).key, kind: "released", by: "ada" }),
    ).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED" });
    // The third submission had not started, so it is graded by the new rubric.
    await admit();
    await endAll(id, { tests: 6, style: 1 });
    expect(await workOf(id, 3)).toMatchObject({ grade: { outcome: { is: "graded" }, total: 7, most: 8 } });
    expect(await tenant.batches.regrade(id, { keys: [memberOf(1).key] })).toEqual({ works: [memberOf(1).key] });
    await admit();
    await endAll(id, { tests: 5, style: 2 });
    expect(await workOf(id, 1)).toMatchObject({ grade: { outcome: { is: "graded" }, total: 7 } });
    // After a return to the old rubric its grades count again, and those of the other rubric do not.
    await tenant.batches.save(batch);
    expect(await workOf(id, 2)).toMatchObject({ grade: { outcome: { is: "graded" }, total: 9 } });
    expect(await workOf(id, 3)).toMatchObject({ grade: { outcome: { is: "needs human" }, total: null } });
  });

  it("is not applied by a regrade", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
    await admit();
    await endAll(id);
    const keys = [memberOf(1).key];
    const graded = (rubric: Rubric) => definition({ main: { ...onePrompt, rubric: rubric as never } });
    const other = tenant.batches.regrade(id, { keys, definition: graded(smaller) });
    await expect(other).rejects.toMatchObject({ code: "STORE_BATCH_REFUSED" });
    expect(await tenant.batches.tries(id, keys[0] ?? "")).toHaveLength(1);
    expect(await tenant.batches.regrade(id, { keys, definition: graded(classRubric) })).toEqual({ works: keys });
  });
});

describe("withdrawn submissions", () => {
  it("stop counting when all submissions are saved, and count again when they return", async () => {
    const batch = await classOf(tenant, flow, 3, { concurrency: 2 });
    const { id } = await tenant.batches.save(batch);
    await admit();
    await endAll(id);
    // A partial save changes no other submission.
    expect(await tenant.batches.save({ ...batch, works: batch.works.slice(0, 1) })).not.toHaveProperty("dropped");
    expect((await workOf(id, 2))?.counts).toBe(true);
    const fewer = { ...batch, works: batch.works.slice(0, 1), whole: true };
    expect(await tenant.batches.save(fewer)).toMatchObject({ dropped: 2, changed: 0 });
    expect(await tenant.batches.save(fewer)).toMatchObject({ dropped: 0 });
    expect(await workOf(id, 2)).toMatchObject({ counts: false, standing: { is: "not counted" } });
    expect((await tenant.batches.get(id))?.counts).toMatchObject({ works: 3, succeeded: 1, notCounted: 2, waiting: 0 });
    // Waiting submissions that were withdrawn start no more.
    expect(await admit()).toMatchObject({ admitted: 0 });
    expect(await tenant.batches.save({ ...batch, whole: true })).toMatchObject({ dropped: 0, added: 0 });
    expect(await workOf(id, 2)).toMatchObject({ counts: true, tries: 1, grade: { total: 9 } });
    expect(await admit()).toMatchObject({ admitted: 1 });
    // A whole save without submissions withdraws all of them.
    expect(await tenant.batches.save({ ...batch, works: [], whole: true })).toMatchObject({ dropped: 3 });
  });
});

it("a verdict of a replaced grading attempt is refused", async () => {
  const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
  await admit();
  await endAll(id);
  const seen = { work: memberOf(1).key, kind: "reviewed", by: "ada", try: 1 } as const;
  expect(await tenant.batches.record(id, seen)).toMatchObject({ try: 1 });
  await tenant.batches.regrade(id, { keys: [seen.work] });
  await admit();
  await endAll(id);
  await expect(tenant.batches.record(id, seen)).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED" });
  expect(await tenant.batches.record(id, { ...seen, try: 2 })).toMatchObject({ try: 2 });
});

it("runs that wait for a person take no slot from another batch", async () => {
  await tenant.batches.save(await classOf(tenant, flow, 4, { key: "stuck", concurrency: 2 }));
  expect(await admit(2)).toMatchObject({ admitted: 2 });
  await tenant.batches.save(await classOf(tenant, flow, 2, { key: "other" }));
  expect(await admit(2)).toMatchObject({ admitted: 0 });
  await store.database.calm.query("update activities set state = 'ready', trouble = $1", [
    JSON.stringify({ held: true, since: 1, failure: { code: "LLM_AUTH", message: "no key" } }),
  ]);
  expect(await admit(2)).toMatchObject({ admitted: 2 });
});

it("an open fork prevents the deletion of its own batch, and of no other", async () => {
  const ids: string[] = [];
  for (const key of ["one", "two"]) {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1, { key }));
    await admit();
    await endAll(id);
    ids.push(id);
  }
  await tenant.runs.restart({ of: (await workOf(ids[0] ?? "", 1))?.try?.runId ?? "" });
  for (const table of ["batches", "batch_runs", "runs"])
    await store.database.calm.query(`update ${table} set created_at = created_at - interval '9 days'`);
  await store.database.calm.query("update runs set ended_at = ended_at - interval '9 days'");
  expect(await deleteOldBatches(store.database, 7 * 86_400_000)).toBe(1);
  expect((await tenant.batches.list()).batches.map(({ id }) => id)).toEqual([ids[0]]);
});
