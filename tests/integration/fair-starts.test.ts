// Tenants get fair shares of single runs. These tests count the work of the busy tenant during the other's runs, and no time.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { type Backend, definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import type { Definition } from "../support/store.ts";
import { until } from "../support/until.ts";

const backends: Backend[] = (await redisAvailable("shares of tenants on Redis")) ? ["redis", "postgres"] : ["postgres"];
const script = 'rules: [{ when: { pattern: "." }, reply: "x" }]';
const places = 8;
const slots = 4;
const environment = {
  RUNS_PER_TENANT: String(places),
  WORKER_CONCURRENCY_CONTROL: String(slots),
  WORKER_CONCURRENCY_PROMPT: String(slots),
};
/** Its activities alternate between two queues, so that each one waits in line again. */
const chart = 'START --> SET_A["Set: A=1"] --> PROMPT_P["Prompt: User P"] --> SET_B["Set: B=1"]';
const activitiesOfRun = 3;
const runs = definitionOf({ "a.md": workflow(chart, { "User P": "Say it." }) });

async function start(mill: Mill, tenant: string, count: number, definition: Definition = runs): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 100) {
    const created = await Promise.all(
      Array.from({ length: Math.min(left, 100) }, () =>
        mill.store.as(tenant).runs.create({ definition, takesTurn: true }),
      ),
    );
    await mill.queues.enqueue(created.flatMap(({ jobs }) => jobs));
    ids.push(...created.map(({ runId }) => runId));
  }
  return ids;
}

async function ended(mill: Mill, tenant: string): Promise<number> {
  const { rows } = await mill.store.database.calm.query<{ runs: number }>(
    "select count(*)::integer as runs from runs where tenant = $1 and ended_at is not null",
    [tenant],
  );
  return rows[0]?.runs ?? 0;
}

/** The start and end of each run's activities, in the order of the starts, by the clock of the one worker process. */
async function record(mill: Mill, tenant: string): Promise<readonly (readonly number[])[]> {
  const { rows } = await mill.store.database.calm.query<{ times: readonly number[] }>(
    `select coalesce(array_agg(extract(epoch from e.at)::float8 order by e.seq) filter (where e.seq is not null), '{}') as times
     from runs r left join events e on e.run_id = r.id and e.type = 'activity.succeeded' where r.tenant = $1
     group by r.id order by r.created_at, r.id`,
    [tenant],
  );
  return rows.map(({ times }) => times);
}

const within = (times: readonly (readonly number[])[], from: number, to: number) =>
  times.flat().filter((time) => time >= from && time <= to).length;

describe.each(backends)("slots of tenants on the %s backend", (backend) => {
  let mill: Mill;
  /** A repeated test has new tenants. */
  let tries = 0;
  const tenant = (name: string) => `${name}-${tries}`;
  beforeAll(async () => {
    mill = await startMill({ backend, script, environment });
  });
  beforeEach(() => {
    tries += 1;
  });
  afterEach(async () => {
    await mill.store.database.calm.query("delete from runs");
  });
  afterAll(() => mill?.close());

  it("five runs of a tenant end while most of 2,000 runs of another tenant still wait", async () => {
    await start(mill, tenant("busy"), 2_000);
    const few = await start(mill, tenant("few"), 5);
    await until(async () => (await ended(mill, tenant("few"))) === few.length);
    const { rows } = await mill.store.database.calm.query<{ began: number; ended: number }>(
      `select extract(epoch from min(created_at))::float8 as began, extract(epoch from max(ended_at))::float8 as ended
       from runs where tenant = $1`,
      [tenant("few")],
    );
    const others = within(await record(mill, tenant("busy")), rows[0]?.began ?? 0, rows[0]?.ended ?? 0);
    // The bound is twice its own share, plus the activities that were in flight and waiting before it, once per activity.
    expect(others).toBeLessThanOrEqual(2 * activitiesOfRun * (few.length + places + 2 * slots));
    expect(await ended(mill, tenant("busy"))).toBeLessThan(2_000);
  });

  it.skipIf(backend !== backends[0] && !inject("thorough"))("three tenants get equal shares", async () => {
    const names = ["one", "two", "three"].map(tenant);
    // All runs start together, however slow their creation is.
    const control = mill.queues.watch("control");
    await control.pause();
    for (const name of names) await start(mill, name, 40);
    await control.resume();
    await until(async () => (await Promise.all(names.map((name) => ended(mill, name)))).every((runs) => runs === 40));
    const records = await Promise.all(names.map((name) => record(mill, name)));
    // The count covers the time in which all tenants are busy.
    const from = Math.max(...records.map((times) => Math.min(...times.flat())));
    const to = Math.min(...records.map((times) => Math.max(...times.map(([first = 0]) => first))));
    const shares = records.map((times) => within(times, from, to));
    const most = Math.max(...shares);
    expect(most).toBeGreaterThan(30);
    for (const share of shares) expect(share).toBeGreaterThanOrEqual(most / 2);
  });
});
