// Shares of tenants hold for single runs. These tests count work, and never time: how much of the busy tenant's went on while another's did.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
/** Its activities go to and fro between two queues, so that each waits in line anew. */
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
    await mill.queues.ring(created.flatMap(({ rings }) => rings));
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

describe.each(backends)("on the %s backend", (backend) => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script, environment });
  });
  afterAll(() => mill?.close());

  it("five runs of a tenant end while little of 2,000 runs of another goes on", async () => {
    await start(mill, "busy", 2_000);
    const few = await start(mill, "few", 5);
    await until(async () => (await ended(mill, "few")) === few.length);
    const { rows } = await mill.store.database.calm.query<{ others: number; open: number }>(
      `select count(*) filter (where e.at between f.began and f.ended)::integer as others,
         (select count(*)::integer from runs where tenant = 'busy' and ended_at is null) as open
       from (select min(created_at) as began, max(ended_at) as ended from runs where tenant = 'few') f
         cross join runs r join events e on e.run_id = r.id and e.type = 'activity.succeeded'
       where r.tenant = 'busy'`,
    );
    // Twice its own, and what was in flight and before it in line, once for each of its activities.
    const bound = 2 * few.length * activitiesOfRun + 2 * activitiesOfRun * (places + 2 * slots);
    console.log(rows, bound);
    expect(rows[0]?.others).toBeLessThanOrEqual(bound);
    expect(rows[0]?.open).toBeGreaterThan(0);
  }, 120_000);
});
