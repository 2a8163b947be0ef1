/**
 * kill -9 of the supervisor between reserving a run's id, creating the run and enqueuing it, and of supervisor and workers in the middle of
 * a class: nothing is lost, no submission is graded twice, no call is paid twice.
 */
import { startSupervisor } from "@markmill/worker/supervisor";
import { describe, expect, inject, it } from "vitest";
import { memberOf } from "../support/class.ts";
import { gradableClass, gradingScript } from "../support/graded-class.ts";
import { type Backend, startMill } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { spawnSupervisor } from "../support/spawn-supervisor.ts";
import { until } from "../support/until.ts";

const withRedis = await redisAvailable("a class that is killed, on Redis");
const works = 24;

const both = inject("thorough") || !withRedis;
const quiet = { info: () => undefined, warn: () => undefined, error: console.error };
// The store starts submissions, and the queue matters in the middle. Each case runs where it matters, and in the soak on every backend.
const deaths: readonly (readonly [Backend, { readonly begins: boolean; readonly middle: readonly number[] }])[] = [
  ["postgres", { begins: true, middle: both ? [0.2, 0.5] : [] }],
  ...(withRedis ? ([["redis", { begins: both, middle: both ? [0.2, 0.5] : [0.35] }]] as const) : []),
];

describe.each(deaths)("a class on %s", (backend, { begins, middle }) => {
  const times = [
    ...(begins ? ["wherever its submissions start"] : []),
    ...(middle.length > 0 ? ["in the middle"] : []),
  ];
  it(`that is killed ${times.join(", and ")} grades each submission once and pays each call once`, async () => {
    const mill = await startMill({ backend, script: gradingScript(300), worker: false, supervisor: false });
    try {
      const { batches } = mill.store.as("default");
      const store = mill.store.as("default");
      const { id } = await batches.save(await gradableClass(store, works, { concurrency: 6 }));
      // Each supervisor is killed at its point: after the reservation, after the creation of the run, and the next ones a few runs later.
      // Each time more runs may start: one statement may have created all earlier runs, and then none would be left to create.
      const points = [
        ["admitted", 6],
        ["created", 12],
        ["created:4", 18],
      ] as const;
      for (const [killAt, concurrency] of begins ? points : []) {
        await batches.setConcurrency(id, concurrency);
        await (await spawnSupervisor(mill, { killAt })).exited;
      }
      await batches.setConcurrency(id, 6);
      const succeeded = async () => (await batches.get(id))?.counts.succeeded ?? 0;
      for (const share of middle) {
        const victims = await Promise.all([mill.spawnWorker(), spawnSupervisor(mill, {})]);
        await until(async () => (await succeeded()) > share * works);
        await Promise.all(victims.map((victim) => victim.kill()));
      }
      const supervisor = startSupervisor({ store: mill.store, queues: mill.queues, log: quiet, retentionDays: 0 });
      const rest = await mill.work();
      await until(async () => (await succeeded()) === works, { everyMs: 100 });
      await supervisor.stop();
      await rest();

      const { rows } = await mill.store.database.calm.query<{
        runs: number;
        grades: number;
        calls: number;
        tries: number;
      }>(
        `select (select count(*) from runs)::integer as runs, (select count(*) from batch_runs)::integer as tries,
           (select count(*) from activities where kind = 'grade' and state = 'done')::integer as grades,
           (select count(*) from calls)::integer as calls`,
      );
      expect(rows[0]).toEqual({ runs: works, tries: works, grades: works, calls: works });
      const { works: all } = await batches.works(id, {}, { limit: 200 });
      expect(all.map(({ key, grade, tries }) => [key, grade?.total, tries])).toEqual(
        Array.from({ length: works }, (_, index) => [memberOf(index + 1).key, 3, 1]),
      );
      // A call that was open when its worker was killed was lost and had to be repeated. No reply that arrived was paid twice.
      const spent = (await batches.get(id))?.spent;
      const unsure = spent?.unsure?.calls ?? 0;
      expect((spent?.calls ?? 0) - unsure).toBe(works);
      expect(mill.requests().length).toBeLessThanOrEqual(works + unsure);
    } finally {
      await mill.close();
    }
  });
});
