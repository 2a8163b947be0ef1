/** A loop of twenty tasks whose worker is killed in lap 7: another worker continues in lap 7, and every lap is paid and written once. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Backend, type Mill, startMill } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { getHistory, replayRun } from "../support/store.ts";
import { fixture } from "../support/tasks-json.ts";
import { until } from "../support/until.ts";

const script = `
sticky: true
rules:
  - { when: { pattern: "Lap (?<n>\\\\d+) of" }, reply: "R{{n}}", delay: 60ms }
`;
const backends: Backend[] = (await redisAvailable("a killed loop of tasks on the Redis backend"))
  ? ["redis", "postgres"]
  : ["postgres"];
// Each case runs on one backend, because a loop continues in the same way on both.
const deaths = ["in the call of lap 7", "between laps"] as const;
const deathsOn = (backend: Backend) =>
  inject("thorough") || backends.length === 1 ? deaths : backend === "redis" ? deaths.slice(0, 1) : deaths.slice(1);
const laps = Array.from({ length: 20 }, (_, lap) => `R${lap}`);

describe.each(backends)("twenty laps on the %s backend", (backend) => {
  let mill: Mill;
  beforeAll(async () => {
    const environment = { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500" };
    mill = await startMill({ backend, script, worker: false, environment });
  });
  afterAll(() => mill.close());

  it.each(deathsOn(backend))("killed %s continue on another worker", async (when) => {
    const before = mill.requests().length;
    const victim = await mill.spawnWorker(
      when === "between laps" ? { killAt: { point: "after-commit", kind: "prompt" } } : {},
    );
    const runId = await mill.start(fixture("laps"));
    if (when === "between laps") await victim.exited;
    else {
      const lap = (n: number) =>
        mill
          .requests()
          .some(({ number, messages }) => number > before && messages[0]?.content.startsWith(`Lap ${n} of`));
      await until(async () => lap(7) || null, { everyMs: 5 });
      await victim.kill();
    }
    const { activities } = await getHistory(mill.store.database, runId);
    const done = activities.filter(({ state }) => state === "done").length;
    expect(done).toBeGreaterThanOrEqual(when === "between laps" ? 1 : 7);
    expect(done).toBeLessThan(20);
    const rest = await mill.work();
    const run = await mill.ended(runId);
    await rest();
    expect(run).toMatchObject({
      status: "success",
      result: JSON.stringify(laps),
      hits: { lap: 20 },
      spent: { steps: 20 },
    });
    const after = await getHistory(mill.store.database, runId);
    expect(after.activities.map(({ node, generation, state }) => [node, generation, state])).toEqual(
      laps.map((_, lap) => ["lap", lap + 1, "done"]),
    );
    // Only the call that was open at the kill may have been sent twice.
    expect(mill.requests().length - before).toBeLessThanOrEqual(21);
    expect(run.spent.calls - (run.spent.unsure?.calls ?? 0)).toBe(20);
    expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
  });
});
