/** The budget of a batch is never exceeded, and it ends no student's run. Both backends, with a real GRADE that costs money. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { gradableClass, gradingFlow, gradingScript } from "../support/graded-class.ts";
import { type Backend, type Mill, startMill } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { until } from "../support/until.ts";

const withRedis = await redisAvailable("the budget of a batch, on Redis");
/** A model with a price in the catalogue, and with replies of a bounded number of tokens. */
const head = "---\nsettings: { model: gpt-4o-mini, maxOutputTokens: 400 }\ngrade: { twice: never }\n---\n";
const works = 8;

const backends: Backend[] = withRedis ? ["postgres", "redis"] : ["postgres"];

describe.each(backends)("a batch with a cost limit on %s", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on both. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script: gradingScript(50) });
  });
  afterAll(() => mill?.close());

  it("pauses with its reason while its runs wait, and a raised limit finishes everything without repeated calls", async () => {
    const store = mill.store.as("default");
    const definition = gradingFlow("Judge it", head);
    // The cost of one submission, measured with a class of one.
    const one = await store.batches.save(await gradableClass(store, 1, { key: "one", definition }));
    await until(async () => (await store.batches.get(one.id))?.counts.succeeded === 1);
    const price = (await store.batches.get(one.id))?.spent.nanodollars ?? 0;
    expect(price).toBeGreaterThan(0);
    const asked = mill.requests().length;

    const cap = Math.round(price * 4.5);
    const budget = { nanodollars: cap, tokens: null };
    const { id } = await store.batches.save(
      await gradableClass(store, works, { key: "many", definition, budget, concurrency: 3 }),
    );
    await until(async () => (await store.batches.get(id))?.state.is === "paused");
    // A call that finds only reserved money waits a moment. It is sent or delayed after the other calls are paid.
    await until(async () => {
      const found = await store.batches.get(id);
      return (
        found?.counts.running === found?.counts.parked && found?.troubles.every((trouble) => trouble.held) === true
      );
    });
    const held = await store.batches.get(id);
    expect(held).toMatchObject({
      state: { is: "paused", by: "budget", reason: expect.stringMatching(/next call could cost/) },
      counts: { failed: 0 },
      troubles: [{ held: true }],
    });
    expect(held?.counts.parked).toBeGreaterThan(0);
    expect(held?.budget?.spent.nanodollars).toBeLessThanOrEqual(cap);
    const { works: waiting } = await store.batches.works(id, { standing: ["running"] });
    expect(waiting[0]?.standing).toMatchObject({ wait: { parked: { failure: { code: "BATCH_BUDGET_SPENT" } } } });

    await store.batches.setBudget(id, { nanodollars: price * 100, tokens: null });
    const { jobs, runs } = await store.batches.resume(id);
    expect(runs).toBeGreaterThan(0);
    await mill.queues.enqueue(jobs);
    await until(async () => (await store.batches.get(id))?.counts.succeeded === works);
    const done = await store.batches.get(id);
    expect(done).toMatchObject({
      state: { is: "open" },
      counts: { succeeded: works, failed: 0 },
      spent: { calls: works },
    });
    expect(done?.budgetNearlySpent).toBe(false);
    await store.batches.setBudget(id, { nanodollars: Math.round(price * works * 1.2), tokens: null });
    expect((await store.batches.get(id))?.budgetNearlySpent).toBe(true);
    expect(mill.requests().length - asked).toBe(works);
    expect((await store.batches.works(id)).works.every(({ tries }) => tries === 1)).toBe(true);
  });

  once("gets a first limit during open calls, which then applies and counts earlier costs", async () => {
    const store = mill.store.as("default");
    const definition = gradingFlow("Judge it", head);
    const known = await store.batches.get((await store.batches.list({ key: "one" })).batches[0]?.id ?? "");
    const price = known?.spent.nanodollars ?? 0;
    const asked = mill.requests().length;
    const { id } = await store.batches.save(
      await gradableClass(store, works, { key: "later", definition, concurrency: 2 }),
    );
    await until(async () => ((await store.batches.get(id))?.counts.succeeded ?? 0) >= 2);
    const free = await store.batches.get(id);
    expect(free?.budget).toMatchObject({ cap: { nanodollars: null } });
    expect(free?.budget?.spent.nanodollars).toBeGreaterThanOrEqual(2 * price);
    // The rest is less than a worst case beside the reservations of two calls.
    const cap = Math.round((free?.budget?.spent.nanodollars ?? 0) + 0.5 * price);
    await store.batches.setBudget(id, { nanodollars: cap, tokens: null });
    const set = (await store.batches.get(id))?.budget;
    const used = (set?.spent.nanodollars ?? 0) + (set?.reserved.nanodollars ?? 0);
    await until(async () => {
      const found = await store.batches.get(id);
      return found?.state.is === "paused" && found.counts.running === found.counts.parked;
    });
    const held = await store.batches.get(id);
    expect(held).toMatchObject({ state: { is: "paused", by: "budget" }, counts: { failed: 0 } });
    expect(held?.counts.succeeded).toBeLessThan(works);
    expect(held?.budget?.spent.nanodollars).toBeLessThanOrEqual(Math.max(cap, used));
    expect(held?.budget?.spent.nanodollars).toBe(held?.spent.nanodollars);

    await store.batches.setBudget(id, { nanodollars: null, tokens: null });
    await mill.queues.enqueue((await store.batches.resume(id)).jobs);
    await until(async () => (await store.batches.get(id))?.counts.succeeded === works);
    const done = await store.batches.get(id);
    expect(done).toMatchObject({ spent: { calls: works }, budget: { reserved: { nanodollars: 0 } } });
    expect(done?.budget?.spent.nanodollars).toBe(done?.spent.nanodollars);
    expect(mill.requests().length - asked).toBe(works);
  });

  once("waits for reserved money that may be released, and does not pause", async () => {
    const store = mill.store.as("default");
    const definition = gradingFlow("Judge it", head);
    const price = (await store.batches.list({ key: "one" })).batches[0];
    const known = await store.batches.get(price?.id ?? "");
    // The limit is enough for all calls, but only for a few worst cases at the same time.
    const budget = { nanodollars: (known?.spent.nanodollars ?? 0) * (works + 6), tokens: null };
    const { id } = await store.batches.save(
      await gradableClass(store, works, { key: "tight", definition, budget, concurrency: works }),
    );
    await until(async () => (await store.batches.get(id))?.counts.succeeded === works);
    expect(await store.batches.get(id)).toMatchObject({ state: { is: "open" }, spent: { calls: works } });
  });

  once("ends a run at the student's own limit, and delays no other run", async () => {
    const store = mill.store.as("default");
    const definition = gradingFlow("Judge it", head);
    const settings = { run: { caps: { nanodollars: 1 } }, late: null, aiConsent: "any" as const, language: null };
    const budget = { nanodollars: 1_000_000_000, tokens: null };
    const { id } = await store.batches.save(
      await gradableClass(store, 2, { key: "poor", definition, settings, budget }),
    );
    await until(async () => (await store.batches.get(id))?.counts.failed === 2);
    expect(await store.batches.get(id)).toMatchObject({ state: { is: "open" } });
    expect((await store.batches.works(id)).works[0]).toMatchObject({
      standing: { failure: { code: "LIMIT_COST" } },
      grade: { outcome: { is: "grader error" }, total: null },
    });
  });
});
