// Grades of a batch and their record of changes, on a real store and without workers.
import { beforeEach, describe, expect, it } from "vitest";
import { classOf, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import { migratedDatabase } from "../support/postgres.ts";
import type { Store, TenantStore } from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });

openStoreForEach((made) => {
  ({ store, tenant } = made);
}, migratedDatabase);

const admit = (most?: number, more?: Parameters<typeof admitAll>[2]) => admitAll(store, most, more);

async function rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, values)).rows;
}
const count = async (table: string) => (await rows<{ n: number }>(`select count(*)::integer as n from ${table}`))[0]?.n;
const runsOf = async (id: string) =>
  (await tenant.batches.works(id, {}, { limit: 200 })).works.map((work) => work.try?.runId ?? "");

describe("grades of a batch", () => {
  let id: string;
  const key = memberOf(1).key;
  const say = (event: object) =>
    tenant.batches.record(id, { work: key, by: "ada", kind: "override", ...event } as never);

  beforeEach(async () => {
    ({ id } = await tenant.batches.save(
      await classOf(tenant, flow, 2, {
        settings: { run: {}, late: { percentPerDay: 10, mostPercent: 50 }, aiConsent: "any", language: null },
      }),
    ));
    await admit();
    await endWithGrade(store, (await runsOf(id))[0] ?? "", gradeWith({ tests: 6, style: 3 }));
  });

  it("an override needs a reason, has precedence over the proposed grade, and keeps the proposal", async () => {
    for (const reason of ["", "  ", undefined]) {
      await expect(say({ criterion: "style", points: 1, reason })).rejects.toMatchObject({
        code: "STORE_GRADE_INVALID",
      });
    }
    for (const points of [5, -1, Number.NaN, Number.POSITIVE_INFINITY, undefined]) {
      await expect(say({ criterion: "style", points, reason: "so" })).rejects.toMatchObject({
        code: "STORE_GRADE_INVALID",
      });
    }
    await expect(say({ criterion: "none", points: 1, reason: "so" })).rejects.toMatchObject({
      code: "STORE_GRADE_INVALID",
    });
    expect(await count("grade_events")).toBe(0);
    const event = await say({ criterion: "style", points: 1, reason: "copied", comment: "See me." });
    expect(event).toMatchObject({ kind: "override", criterion: "style", from: 3, to: 1, by: "ada", work: key, try: 1 });
    expect(await tenant.batches.work(id, key)).toMatchObject({
      grade: {
        total: 7,
        proposed: { total: 9 },
        overrides: [{ criterion: "style", proposed: 3, points: 1, reason: "copied", by: "ada" }],
        criteria: [{ by: "tests" }, { by: "human", points: 1, comment: "See me." }],
      },
    });
    await say({ criterion: "style", points: null, reason: "a mistake of mine" });
    expect((await tenant.batches.work(id, key))?.grade).toMatchObject({ total: 9, overrides: [] });
    expect((await tenant.batches.events(id)).events).toHaveLength(2);
  });

  it("a grade is released by a separate event, and only if the submission has an outcome", async () => {
    const second = { work: memberOf(2).key, kind: "released" };
    await expect(say(second)).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED" });
    await say({ kind: "released" });
    expect((await tenant.batches.work(id, key))?.grade?.released).toMatchObject({ by: "ada", total: 9 });
    expect((await tenant.batches.works(id, { released: true })).works.map((work) => work.key)).toEqual([key]);
    await expect(say({ kind: "withdrawn" })).rejects.toMatchObject({ code: "STORE_GRADE_INVALID" });
    await say({ kind: "withdrawn", reason: "wrong rubric" });
    expect((await tenant.batches.work(id, key))?.grade?.released).toBeNull();
    await expect(say({ kind: "withdrawn", reason: "again" })).rejects.toMatchObject({ code: "STORE_GRADE_REFUSED" });
  });

  it("parallel overrides each record the value that they replaced", async () => {
    await Promise.all([0, 1, 2, 3, 4].map((points) => say({ criterion: "style", points, reason: `r${points}` })));
    const { events } = await tenant.batches.events(id, key);
    expect(events.map(({ from }) => from)).toEqual([3, ...events.slice(0, -1).map(({ to }) => to)]);
  });

  it("the database refuses to change or delete grade events", async () => {
    await say({ criterion: "style", points: 1, reason: "copied" });
    for (const text of [
      "update grade_events set points_to = 4",
      "delete from grade_events",
      "truncate grade_events",
      "insert into grade_events (batch_id, work, who, kind, reason, comment, rubric_hash, try) values ('b', 'w', 'x', 'override', '', '', '', 0)",
    ]) {
      await expect(store.database.calm.query(text)).rejects.toThrow(
        /append-only|permission denied|grade_events_reason_check/,
      );
    }
    expect((await tenant.batches.events(id)).events).toHaveLength(1);
  });

  it("a late submission has its penalty on a separate line", async () => {
    const batch = await classOf(tenant, flow, 2);
    const late = { ...batch.works[0], lateness: { is: "late", byMs: 90_000_000 } };
    await tenant.batches.save({
      ...batch,
      works: [late as never],
      settings: { run: {}, late: { percentPerDay: 10, mostPercent: 50 }, aiConsent: "any", language: null },
    });
    expect((await tenant.batches.work(id, key))?.grade).toMatchObject({
      points: 9,
      penalty: { points: 2 },
      total: 7,
    });
  });

  it("submissions are filtered by standing and outcome, page by page", async () => {
    const outcome = ["graded" as const];
    expect((await tenant.batches.works(id, { outcome })).works.map((work) => work.key)).toEqual([key]);
    expect((await tenant.batches.works(id, { standing: ["running"] })).works).toHaveLength(1);
    const first = await tenant.batches.works(id, {}, { limit: 1 });
    expect(first.next).toBe(key);
    const rest = await tenant.batches.works(id, {}, { limit: 1, after: first.next ?? "" });
    expect(rest).toMatchObject({ next: null, works: [{ key: memberOf(2).key }] });
    expect(await tenant.batches.works(id, { outcome }, { limit: 1 })).toMatchObject({ works: [{ key }] });
  });
});
