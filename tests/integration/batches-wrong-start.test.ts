// A class that started with the wrong model, script or parameters, and continues with the right one. Real store, no workers.
import { expect, it } from "vitest";
import { classOf, memberOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import type { NewBatch, Store, TenantStore } from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });

openStoreForEach((made) => {
  ({ store, tenant } = made);
});

const admit = () => admitAll(store);

function withModel(batch: NewBatch, model: string, script: string | null = null): NewBatch {
  const run = { variables: { AI_MODEL_NAME: model }, options: { sandbox: "auto", script } };
  return { ...batch, settings: { ...batch.settings, run } };
}

const lastRun = async (id: string, number: number) =>
  (await tenant.batches.work(id, memberOf(number).key))?.try?.runId ?? "";

/** Records a model request as paid, open, or without a reply. */
async function ask(runId: string, state: "paid" | "open" | "unsure"): Promise<void> {
  const { rows } = await store.database.calm.query<{ id: number }>("select id from activities where run_id = $1", [
    runId,
  ]);
  const activity = rows[0]?.id;
  await store.database.calm.query(
    `insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state, prompt_tokens, completion_tokens, characters, nanodollars)
     values ('default', $1, 0, 1, $2, $2, 'm', $3, 1, 1, 1, 1)`,
    [activity, runId, state],
  );
  if (state === "open")
    await store.database.calm.query(
      "update activities set state = 'claimed', lease_until = clock_timestamp() + interval '1 hour' where id = $1",
      [activity],
    );
  if (state === "paid")
    await store.database.calm.query(
      `insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply, prompt_tokens, completion_tokens, characters, nanodollars)
       values ($1, 0, 'h', $2, $2, 'm', 'null', 'null', 1, 1, 1, 1)`,
      [activity, runId],
    );
}

async function stateOf(runId: string) {
  const { rows } = await store.database.calm.query<{ status: string; later: boolean }>(
    `select r.status, coalesce(bool_and(a.not_before > clock_timestamp()), false) as later
     from runs r left join activities a on a.run_id = r.id and a.state = 'ready' where r.id = $1 group by 1`,
    [runId],
  );
  return rows[0];
}

it("submissions without a paid reply restart with the corrected model, and paid replies are kept", async () => {
  const batch = await classOf(tenant, flow, 4);
  const { id } = await tenant.batches.save(withModel(batch, "gpt-5-mimi"));
  await admit();
  const old = await Promise.all([1, 2, 3, 4].map((number) => lastRun(id, number)));
  await ask(old[0] as string, "paid");
  await ask(old[1] as string, "open");
  await ask(old[2] as string, "unsure");

  const saved = await tenant.batches.save(withModel(batch, "gpt-5-mini"));
  expect(saved).toMatchObject({ restarted: 2, kept: 1 });
  expect(await stateOf(old[3] as string)).toEqual({ status: "doing", later: true });
  await admit();
  await admit();
  const now = await Promise.all([1, 2, 3, 4].map((number) => lastRun(id, number)));
  expect(now.map((run, index) => run === old[index])).toEqual([true, true, false, false]);
  expect(await stateOf(old[3] as string)).toMatchObject({ status: "cancelled" });
  expect((await tenant.batches.get(id))?.counts).toMatchObject({ running: 4, failed: 0 });
  const started = await tenant.runs.history(now[3] as string);
  expect(JSON.stringify(started)).toContain('"AI_MODEL_NAME":"gpt-5-mini"');
  // A repeated save changes nothing.
  expect(await tenant.batches.save(withModel(batch, "gpt-5-mini"))).toMatchObject({ restarted: 0, kept: 1 });
});

it("an open request is kept at first, and the next save restarts it after its worker was lost", async () => {
  const batch = await classOf(tenant, flow, 1);
  const { id } = await tenant.batches.save(withModel(batch, "gpt-5-mimi"));
  await admit();
  await ask(await lastRun(id, 1), "open");
  expect(await tenant.batches.save(withModel(batch, "gpt-5-mini"))).toMatchObject({ restarted: 0 });
  await store.database.calm.query("update activities set lease_until = clock_timestamp() - interval '1 second'");
  expect(await tenant.batches.save(withModel(batch, "gpt-5-mini"))).toMatchObject({ restarted: 1 });
});

it("submissions with replies of a script alone restart with the corrected model", async () => {
  const batch = await classOf(tenant, flow, 1);
  const { id } = await tenant.batches.save(withModel(batch, "scripted", "wrong.yaml"));
  await admit();
  await ask(await lastRun(id, 1), "paid");
  expect(await tenant.batches.save(withModel(batch, "scripted", "right.yaml"))).toMatchObject({
    restarted: 1,
    kept: 0,
  });
});

it("a run that failed because the endpoint refused its request restarts, also with the same settings", async () => {
  const batch = await classOf(tenant, flow, 3);
  const { id } = await tenant.batches.save(withModel(batch, "gpt-5-mini"));
  await admit();
  const fail = async (number: number, code: string) => {
    const run = await lastRun(id, number);
    await store.database.calm.query(
      "update runs set status = 'failed', phase = 'ended', ended_at = clock_timestamp() where id = $1",
      [run],
    );
    await store.database.calm.query(
      "insert into events (run_id, seq, type, at, body) values ($1, 900, 'activity.failed', clock_timestamp(), $2)",
      [run, JSON.stringify({ type: "activity.failed", failure: { code, message: "It failed." } })],
    );
  };
  await fail(1, "MODEL_REQUEST_REFUSED");
  await fail(2, "COMMAND_FAILED");
  expect(await tenant.batches.save(withModel(batch, "gpt-5-mini"))).toMatchObject({ restarted: 1 });
  expect((await tenant.batches.get(id))?.counts).toMatchObject({ waiting: 1, failed: 1, running: 1 });
});

it("other settings for a class without files restart the same submissions, and a resume leaves replaced runs unchanged", async () => {
  const batch = await classOf(tenant, flow, 2);
  const { id } = await tenant.batches.save(withModel(batch, "gpt-5-mimi"));
  await admit();
  const old = await lastRun(id, 1);
  await store.database.calm.query(
    `update activities set trouble = '{"held":true,"since":0,"failure":{"code":"MODEL_NOT_IN_CATALOGUE","message":"no"}}'`,
  );
  expect((await tenant.batches.get(id))?.troubles).toMatchObject([{ works: 2, held: true }]);
  const { run } = withModel(batch, "gpt-5-mini").settings;
  expect(await tenant.batches.setRun(id, run)).toEqual({ restarted: 2, kept: 0 });
  expect((await tenant.batches.get(id))?.troubles).toEqual([]);
  expect(await tenant.batches.resume(id)).toEqual({ runs: 0, jobs: [] });
  await admit();
  expect(await stateOf(old)).toMatchObject({ status: "cancelled" });
});
