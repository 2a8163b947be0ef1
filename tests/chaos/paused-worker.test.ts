/**
 * A worker that is paused (SIGSTOP, a closed laptop, a long garbage collection) keeps its prompts: no other worker sends them again, and
 * replies that arrive during the pause are used. A killed worker is replaced within seconds, whatever the time limit of its calls is.
 */

import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import {
  type Backend,
  type Mill,
  type SpawnedWorker,
  type SpawnOptions,
  startMill,
  workflow,
} from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { openWire, type Wire } from "../support/wire.ts";

const script = `
rules:
  - { when: { pattern: "say (?<what>.*)" }, reply: "{{what}}" }
`;
const files = {
  "a.md": workflow("START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT] --> PROMPT_C[Prompt: User C]", {
    "User A": "say first {{N}}",
    "User C": "say second {{N}}",
  }),
};
const count = 5;

function gateOf({ gate }: Mill) {
  if (gate === null) throw new Error("the model has no gate");
  return gate;
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const redis: readonly Backend[] = (await redisAvailable("a paused worker on Redis")) ? ["redis"] : [];

describe.each<Backend>([...redis, "postgres"])("prompts claimed by one worker, on the %s backend", (backend) => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script, worker: false, gated: true });
  });
  afterAll(() => mill.close());
  let worker: SpawnedWorker | null = null;
  let wire: Wire | null = null;
  afterEach(async () => {
    await worker?.kill();
    worker = null;
    wire?.close();
    wire = null;
  });

  /** Runs whose first prompts are all at the model, sent by a worker that is stopped now. The model answers during the stop. */
  async function inFlight() {
    const asking = await withTheModel();
    asking.worker.process.kill("SIGSTOP");
    asking.answer();
    return asking;
  }

  /** Runs whose first prompts are all at the model, sent by a worker process. */
  async function withTheModel(options: SpawnOptions = {}) {
    const gate = gateOf(mill);
    const before = gate.asked.length;
    const begun = await mill.spawnWorker(options);
    worker = begun;
    const answer = gate.hold();
    const runIds = await Promise.all(
      Array.from({ length: count }, (_, n) => mill.start(files, { variables: { N: `n${n}` } })),
    );
    await until(() => gate.asked.length - before === count);
    return { worker: begun, runIds, answer, asked: () => gate.asked.length - before };
  }

  /** Each prompt was sent once, and each request is paid and booked once. */
  async function paidOnce(runIds: readonly string[]) {
    for (const [n, runId] of runIds.entries()) {
      expect(await mill.ended(runId)).toMatchObject({
        status: "success",
        result: `second n${n}`,
        variables: { B: `first n${n}` },
        spent: { calls: 2, unsure: { calls: 0 } },
      });
    }
    expect(await claims(runIds)).toEqual(Array(count).fill({ takeovers: 0, claim: 1 }));
  }

  async function claims(runIds: readonly string[]) {
    const { rows } = await mill.store.database.calm.query<{ takeovers: number; claim: number }>(
      "select takeovers, claim from activities where run_id = any($1) and node = 'PROMPT_A' order by id",
      [runIds],
    );
    return rows;
  }

  it("are each sent once if that worker is stopped for 5 s while another one is idle", async () => {
    const { worker, runIds, asked } = await inFlight();
    const rest = await mill.work();
    await pause(5_000);
    expect(asked()).toBe(count);
    worker.process.kill("SIGCONT");
    await paidOnce(runIds);
    await rest();
    expect(asked()).toBe(2 * count);
  });

  const silenced = it.runIf(backend === "postgres");
  silenced("are each sent once although the network to Postgres drops everything for 5 s", async () => {
    wire = await openWire(mill.databaseUrl);
    const { url } = wire;
    const through = { databaseUrl: url, backend: { kind: "postgres", url } } as const;
    const { runIds, answer, asked } = await withTheModel(through);
    wire.silence();
    answer();
    const rest = await mill.work();
    await pause(5_000);
    expect(asked()).toBe(count);
    wire.restore();
    await paidOnce(runIds);
    await rest();
    expect(asked()).toBe(2 * count);
  });

  const cutOff = it.runIf(backend === "postgres" && inject("thorough"));
  cutOff("go to another worker if their worker cannot reach Postgres, and each request of both is booked", async () => {
    wire = await openWire(mill.databaseUrl);
    const { url } = wire;
    const through = { databaseUrl: url, backend: { kind: "postgres", url } } as const;
    const { runIds, answer, asked } = await withTheModel(through);
    wire.cut();
    const rest = await mill.work();
    await until(() => asked() === 2 * count);
    answer();
    for (const runId of runIds) expect(await mill.ended(runId)).toMatchObject({ status: "success" });
    await rest();
    wire.restore();
    // The disconnected worker works again.
    const again = await mill.start(files, { variables: { N: "again" } });
    expect(await mill.ended(again)).toMatchObject({ status: "success", spent: { calls: 2, unsure: { calls: 0 } } });
    for (const runId of runIds) {
      expect(await mill.ended(runId)).toMatchObject({ spent: { calls: 3, unsure: { calls: 1 } } });
    }
    expect(await claims(runIds)).toEqual(Array(count).fill({ takeovers: 1, claim: 2 }));
    expect(asked()).toBe(3 * count + 2);
  });

  const withoutRedis = it.runIf(backend === "redis" && inject("thorough"));
  withoutRedis.each(["silence", "cut"] as const)(
    "are each sent once although the worker's Redis is unreachable (%s)",
    async (how) => {
      const { backend: at } = mill.queueAt;
      wire = await openWire(at.url);
      const { runIds, answer, asked } = await withTheModel({ backend: { ...at, url: wire.url } });
      wire[how]();
      const rest = await mill.work();
      await pause(5_000);
      expect(asked()).toBe(count);
      answer();
      await paidOnce(runIds);
      wire.restore();
      await rest();
      expect(asked()).toBe(2 * count);
    },
  );

  // kill-worker.ts tests it without a pause, on both backends, with calls of up to ten minutes.
  const killed = it.runIf(backend === "postgres" || inject("thorough"));
  killed("are taken over at once if their worker is killed while it is stopped", async () => {
    const { worker, runIds, asked } = await inFlight();
    const rest = await mill.work();
    await pause(4_000);
    expect(asked()).toBe(count);
    await worker.kill();
    for (const runId of runIds) expect(await mill.ended(runId)).toMatchObject({ status: "success" });
    await rest();
    expect(await claims(runIds)).toEqual(Array(count).fill({ takeovers: 1, claim: 2 }));
  });
});

describe("a worker that stays stopped for longer than the time limit of its call", () => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({
      backend: "postgres",
      script,
      worker: false,
      gated: true,
      environment: { MODEL_TIMEOUT_MS: "3000" },
    });
  });
  afterAll(() => mill.close());

  it("loses its prompt to another worker, and commits nothing twice when it continues", async () => {
    const worker = await mill.spawnWorker();
    const answer = gateOf(mill).hold();
    const runId = await mill.start(files, { variables: { N: "n" } });
    await until(() => gateOf(mill).asked.length === 1);
    worker.process.kill("SIGSTOP");
    answer();
    const rest = await mill.work();
    const run = await mill.ended(runId);
    worker.process.kill("SIGCONT");
    await pause(1_500);
    await rest();
    await worker.kill();
    expect(run).toMatchObject({ status: "success", result: "second n" });
    const { rows } = await mill.store.database.calm.query(
      "select type from events where run_id = $1 and part = 0 order by seq",
      [runId],
    );
    expect(rows.map(({ type }) => type)).toEqual(["run.started", ...Array(3).fill("activity.succeeded")]);
  });
});
