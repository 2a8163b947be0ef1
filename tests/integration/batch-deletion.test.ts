// The deletion of batches and of their runs, on a real store and without workers.
import { describe, expect, it } from "vitest";
import { classOf, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { cancelRun, deleteOldBatches, deleteOldRuns, type Store, type TenantStore } from "../support/store.ts";
import { until } from "../support/until.ts";
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
const countsOf = async (id: string) => (await tenant.batches.get(id))?.counts;

describe("deletion of a batch", () => {
  it("a batch without grading finds its forks and restarts, which pay from its budget", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 2, { concurrency: 2 }));
    await admit();
    const [first = "", second = ""] = await runsOf(id);
    // In a batch without grading, the options of a run name no class.
    await rows("update runs set options = '{}'");
    await endWithGrade(store, first, gradeWith({ tests: 1, style: 1 }));
    await cancelRun(store, second, "enough");
    const restarted = await tenant.runs.restart({ of: first, options: {} });
    const again = await tenant.runs.restart({ of: restarted.runId });
    const budgets = await rows("select budgets from runs where id = any($1)", [[restarted.runId, again.runId]]);
    expect(budgets).toEqual([{ budgets: [id] }, { budgets: [id] }]);
    await tenant.batches.cancel(id, "over");
    await expect(tenant.batches.delete(id)).rejects.toMatchObject({ code: "STORE_RUN_OPEN" });
    for (const { runId } of [restarted, again]) await cancelRun(store, runId, "enough");
    expect(await tenant.batches.delete(id)).toBe(true);
    expect([await count("runs"), await count("budgets"), await count("events")]).toEqual([0, 0, 0]);
  });

  it("a restart of a run whose batch was deleted creates no run", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1, { concurrency: 1 }));
    await admit();
    const [run = ""] = await runsOf(id);
    await endWithGrade(store, run, gradeWith({ tests: 1, style: 1 }));
    await rows("delete from budgets where id = $1", [id]);
    await expect(tenant.runs.restart({ of: run })).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
    await expect(tenant.runs.fork({ of: run, from: ["say"] })).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
    expect(await count("runs")).toBe(1);
  });

  it("the deletion waits for a fork that is being written, and deletes it too", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1, { concurrency: 1 }));
    await admit();
    const [run = ""] = await runsOf(id);
    await endWithGrade(store, run, gradeWith({ tests: 1, style: 1 }));
    const forking = await store.database.calm.connect();
    await forking.query("begin");
    // These are the locks and the row of a fork, as fork-run.ts writes them.
    await forking.query("select 1 from budgets where id = $1 for key share", [id]);
    await forking.query(
      `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', 'fork', 'root_id', 'fork', 'forked_from', r.id))).*
       from runs r where r.id = $1`,
      [run],
    );
    const deleting = tenant.batches.delete(id);
    await until(async () => {
      const waiting = await rows(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%budgets%'",
      );
      return waiting.length > 0;
    });
    expect(await rows("select id from runs")).toEqual([]);
    await forking.query("commit");
    forking.release();
    expect(await deleting).toBe(true);
    expect([await count("runs"), await count("budgets"), await count("batches")]).toEqual([0, 0, 0]);
  });

  it("the deletion removes students, submissions, runs, events and budget, and only after all runs have ended", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 3, { concurrency: 2 }));
    await admit();
    await expect(tenant.batches.delete(id)).rejects.toMatchObject({ code: "STORE_RUN_OPEN" });
    const [first] = await runsOf(id);
    await endWithGrade(store, first ?? "", gradeWith({ tests: 1, style: 1 }));
    await tenant.batches.record(id, { work: memberOf(1).key, by: "ada", kind: "released" });
    const forked = await tenant.runs.restart({ of: first ?? "" });
    await cancelRun(store, forked.runId, "enough");
    await tenant.batches.cancel(id, "over");
    expect(await tenant.batches.delete(id)).toBe(true);
    for (const table of [
      "batches",
      "batch_members",
      "batch_works",
      "batch_runs",
      "batch_rubrics",
      "grade_events",
      "runs",
      "events",
      "budgets",
    ]) {
      expect.soft(await count(table), table).toBe(0);
    }
    const named = await rows("select * from blob_references");
    expect(named).toEqual([]);
    expect(await tenant.batches.delete(id)).toBe(false);
  });

  it("no run is created for a deleted batch, however late its start", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
    let gone: Promise<boolean> | null = null;
    // The batch is deleted after the start was scheduled and before its run exists.
    await expect(
      admit(10, {
        failPoint: (point) => {
          if (point === "admitted") throw new Error("killed");
        },
      }),
    ).rejects.toThrow();
    const [late] = await rows<{ run_id: string }>("select run_id from batch_runs");
    gone = tenant.batches.delete(id);
    expect(await gone).toBe(true);
    const made = await tenant.runs.create({
      id: late?.run_id ?? "",
      definition: flow,
      idempotencyKey: `batch-try:${late?.run_id}`,
      requestHash: "x",
    });
    expect(made).toMatchObject({ created: false, jobs: [] });
    expect(await count("runs")).toBe(0);
  });

  it("a single deleted run of a batch marks its grading attempt as deleted", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 2));
    await admit();
    const [first] = await runsOf(id);
    await endWithGrade(store, first ?? "", gradeWith({ tests: 6, style: 4 }));
    await tenant.runs.delete(first ?? "");
    expect(await countsOf(id)).toMatchObject({ works: 2, deleted: 1, running: 1 });
    expect(await tenant.batches.work(id, memberOf(1).key)).toMatchObject({
      standing: { is: "deleted" },
      grade: { outcome: { is: "grader error" }, total: null },
    });
    await admit();
    expect(await countsOf(id)).toMatchObject({ deleted: 1 });
    expect(await tenant.batches.regrade(id, { keys: [memberOf(1).key] })).toEqual({ works: [memberOf(1).key] });
  });

  it("the retention period deletes whole batches, and no single grades of a class", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 2));
    await admit();
    for (const run of await runsOf(id)) await endWithGrade(store, run, null);
    await store.database.calm.query("update runs set ended_at = ended_at - interval '9 days' where id = $1", [
      (await runsOf(id))[0],
    ]);
    await store.database.calm.query("update batches set created_at = created_at - interval '9 days'");
    await store.database.calm.query("update batch_runs set created_at = created_at - interval '9 days'");
    expect(await deleteOldRuns(store.database, 7 * 86_400_000)).toBe(0);
    expect(await deleteOldBatches(store.database, 7 * 86_400_000)).toBe(0);
    await store.database.calm.query("update runs set ended_at = ended_at - interval '9 days'");
    expect(await deleteOldBatches(store.database, 7 * 86_400_000)).toBe(1);
    expect(await count("runs")).toBe(0);
  });
});
