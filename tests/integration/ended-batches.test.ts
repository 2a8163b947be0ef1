/** A batch that ends without the end of a run: it records its end, and webhooks and its stream report the end. */

import { describe, expect, it } from "vitest";
import { startApi } from "../support/api.ts";
import { classOf, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { admit, openStoreForEach } from "../support/class-store.ts";
import { admitWorks, type NewBatch, noteHappenings, type Store, type TenantStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { definition, onePrompt } from "./store-programs.ts";

let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });
openStoreForEach((made) => {
  ({ store, tenant } = made);
});

async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, [...values])).rows;
}

const save = async (count: number, more: Partial<NewBatch> = {}) =>
  await tenant.batches.save(await classOf(tenant, flow, count, more));

/** The batch was created long ago, and so was a webhook that waits for its end. */
async function madeLongAgo(id: string): Promise<void> {
  await query("update batches set created_at = created_at - interval '1 hour' where id = $1", [id]);
  await query(
    `insert into webhooks (id, tenant, url, events, secret, created_by, created_at, seen_at)
     values ('hook', 'default', 'http://127.0.0.1:9', '{batch.ended}', 'whsec_', 'test', clock_timestamp() - interval '1 hour',
       clock_timestamp() - interval '10 minutes') on conflict do nothing`,
  );
  expect(await told()).toEqual([]);
}

async function told() {
  await noteHappenings(store.database);
  return (await query<{ body: object }>("select body from webhook_deliveries order by id")).map(({ body }) => body);
}

const endOf = async (id: string) => (await tenant.batches.summary(id))?.endedAt ?? null;

/** The batch ended within the last minutes, not at its creation, and one event reports that. */
async function expectEnded(id: string, counts: object): Promise<void> {
  const ended = await endOf(id);
  const [{ since } = { since: null }] = await query<{ since: Date }>(
    "select created_at + interval '30 minutes' as since from batches where id = $1",
    [id],
  );
  expect(ended?.getTime()).toBeGreaterThan(since?.getTime() ?? Number.POSITIVE_INFINITY);
  const about = { id, endedAt: ended?.toISOString(), counts: expect.objectContaining(counts) };
  expect(await told()).toEqual([expect.objectContaining(about)]);
  expect(await told()).toHaveLength(1);
}

/** Whoever gets to this trigger waits until the answer is called. */
async function waitsOn(trigger: string, when: string): Promise<() => Promise<void>> {
  await query(`create function markmill.wait_here() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(24); return new; end'`);
  await query(`${trigger} when (${when}) execute function markmill.wait_here()`);
  const held = await store.database.calm.connect();
  await held.query("select pg_advisory_lock(24)");
  return async () => {
    await held.query("select pg_advisory_unlock(24)");
    held.release();
  };
}

/** So many wait for a lock. */
const waiting = (count: number) =>
  until(async () => {
    const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await query(text)).length >= count;
  });

const ways: readonly {
  readonly how: string;
  readonly act: (id: string) => Promise<unknown>;
  readonly counts: object;
}[] = [
  {
    how: "its last waiting submission is withdrawn",
    act: () => save(1, { works: [], whole: true }),
    counts: { works: 1, notCounted: 1, waiting: 0 },
  },
  {
    how: "it is cancelled before anything ran",
    act: (id) => tenant.batches.cancel(id, "the wrong class"),
    counts: { works: 1, waiting: 1, running: 0 },
  },
  {
    how: "its last submission can no longer be graded",
    act: async () => {
      const { works, ...batch } = await classOf(tenant, flow, 1);
      const content = { is: "empty" } as const;
      await tenant.batches.save({ ...batch, works: works.map((work) => ({ ...work, content })) });
    },
    counts: { ungradable: 1, waiting: 0 },
  },
  {
    how: "its last run cannot be made",
    act: async (id) => {
      await query("update batch_runs set definition_hash = 'gone' where batch_id = $1", [id]);
      await admitWorks(store, { most: 9, enqueue: async () => undefined, onSkipped: () => undefined });
    },
    counts: { failed: 1, waiting: 0 },
  },
];

describe("a batch that ends without the end of a run", () => {
  it.each(ways)("records and reports its end: $how", async ({ act, counts }) => {
    const { id } = await save(1);
    await madeLongAgo(id);
    expect(await endOf(id)).toBeNull();
    await act(id);
    await expectEnded(id, counts);
  });

  it("an empty class ends when it is saved as a whole or cancelled, and not while submissions may come", async () => {
    const { id } = await save(1, { works: [] });
    await madeLongAgo(id);
    expect(await endOf(id)).toBeNull();
    await save(1, { works: [], whole: true });
    await expectEnded(id, { works: 0 });
    const { id: other } = await save(1, { works: [], key: "other" });
    expect(await endOf(other)).toBeNull();
    await tenant.batches.cancel(other, "nobody");
    expect(await endOf(other)).not.toBeNull();
  });

  it("submissions that are added later reopen an ended batch", async () => {
    const { id } = await save(1, { works: [], whole: true });
    expect(await endOf(id)).not.toBeNull();
    await save(2);
    expect(await endOf(id)).toBeNull();
    await save(2, { works: [], whole: true });
    expect(await endOf(id)).not.toBeNull();
  });

  it("an ended batch keeps its time of end, whatever is saved or cancelled later", async () => {
    const { id } = await save(2);
    await admit(store);
    for (const number of [1, 2]) {
      const work = await tenant.batches.work(id, memberOf(number).key);
      await endWithGrade(store, work?.try?.runId ?? "", gradeWith({ tests: 6, style: 3 }));
    }
    const ended = await endOf(id);
    expect(ended).not.toBeNull();
    await save(2);
    await save(1, { whole: true });
    await tenant.batches.cancel(id, "over");
    expect(await endOf(id)).toEqual(ended);
  });

  it("keeps its time of end when its runs are deleted, and is not reported again", async () => {
    const { id } = await save(2);
    await madeLongAgo(id);
    await admit(store);
    const runs: string[] = [];
    for (const number of [1, 2]) {
      const work = await tenant.batches.work(id, memberOf(number).key);
      runs.push(work?.try?.runId ?? "");
      await endWithGrade(store, work?.try?.runId ?? "", gradeWith({ tests: 6, style: 3 }));
    }
    const ended = await endOf(id);
    expect(ended).not.toBeNull();
    expect(await told()).toHaveLength(1);
    for (const run of runs.toReversed()) {
      expect(await tenant.runs.delete(run)).toBe(true);
      expect(await endOf(id)).toEqual(ended);
      expect(await told()).toHaveLength(1);
    }
  });

  it("is reported as ended when its last two runs are refused at the same time", async () => {
    const { id } = await save(2);
    await madeLongAgo(id);
    await query("update batch_runs set definition_hash = 'gone' where batch_id = $1", [id]);
    const goOn = await waitsOn(
      "create constraint trigger wait_here after update on batch_runs deferrable initially deferred for each row",
      "new.refusal is not null",
    );
    const admitted = admitWorks(store, { most: 9, enqueue: async () => undefined, onSkipped: () => undefined });
    // One is about to commit, the other one has come, too.
    await waiting(2);
    await goOn();
    await admitted;
    await expectEnded(id, { failed: 2, waiting: 0 });
  });

  it.each([
    ["begins before the cancellation and is committed during it", true],
    ["begins during the cancellation", false],
  ])("is reported as ended once if the end of its last run %s", async (_, endsFirst) => {
    const { id } = await save(1);
    await madeLongAgo(id);
    await admit(store);
    const run = (await tenant.batches.work(id, memberOf(1).key))?.try?.runId ?? "";
    const goOn = await waitsOn("create trigger wait_here before update on batches for each row", "true");
    const ending = await store.database.calm.connect();
    const end = async () => {
      await ending.query("begin");
      const set = "status = 'success', phase = 'ended', ended_at = clock_timestamp()";
      await ending.query(`update runs set ${set} where id = $1`, [run]);
    };
    if (endsFirst) await end();
    const cancelled = tenant.batches.cancel(id, "late");
    // It has found the batch running, and is about to write.
    await waiting(1);
    if (!endsFirst) await end();
    await ending.query("commit");
    ending.release();
    expect(await told()).toHaveLength(1);
    await goOn();
    await cancelled;
    await expectEnded(id, { succeeded: 1, running: 0 });
  });

  it("closes its event stream", async () => {
    const { id } = await save(1);
    const api = await startApi({ store, queues: null });
    try {
      const headers = { authorization: `Bearer ${await api.key(["owner"])}` };
      const stream = await fetch(`${api.url}/v1/batches/${id}/stream`, { headers });
      await save(1, { works: [], whole: true });
      expect(await stream.text()).toMatch(/event: end/);
    } finally {
      await api.close();
    }
  });
});
