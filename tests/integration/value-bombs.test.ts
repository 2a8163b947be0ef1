// Exploding texts, endless patterns, states of newer versions, defects: each one harms only its own run.
import { readFile } from "node:fs/promises";
import type { Node } from "@markmill/engine";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Backend, type Mill, startMill, workflow } from "../support/mill.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { redisAvailable } from "../support/redis.ts";
import {
  answerAsk,
  createRun,
  defaultCeilings,
  deleteOldRuns,
  deleteOrphans,
  forkRun,
  getRun,
  loadBlob,
  openAsks,
  openStore,
  replayRun,
  type Store,
  saveBlob,
  startCall,
  watch,
} from "../support/store.ts";
import { chain, claimed, definition, onePrompt, only, perform, program, succeeded } from "./store-programs.ts";

const redis = await redisAvailable("value bombs on Redis");
/** The worker is tested here, on one queue backend, and in the soak on both. */
const backends: Backend[] = redis ? (inject("thorough") ? ["redis", "postgres"] : ["redis"]) : ["postgres"];

/** The worker's documented memory bound. An idle worker uses about 130 MB. */
const mostMegabytes = 700;

describe.each(backends)("value bombs in one worker on the %s backend", (backend) => {
  let mill: Mill;
  beforeAll(async () => {
    const script = 'rules: [{ when: { pattern: "." }, reply: "fine" }]';
    mill = await startMill({ backend, script, worker: false });
  });
  afterAll(() => mill?.close());

  it("fail with their codes, while other runs finish and the worker's memory stays below its bound", async () => {
    const worker = await mill.spawnWorker();
    const A = "x".repeat(1024 * 1024);
    const places = "{{A}}".repeat(600);
    const loop = { MAX_ACTIVITY_HITS: "1000" };
    const bombs: readonly [string, Record<string, string>, Record<string, string>][] = [
      ["VALUE_TOO_LONG", { "a.md": workflow('START --> SET_A["Set: A={{A}}{{A}}"] --> SET_A') }, { A: "x", ...loop }],
      ["VALUE_TOO_LONG", { "a.md": workflow('START --> PROMPT_P["Prompt: User P"]', { "User P": places }) }, { A }],
      ["VALUE_TOO_LONG", { "a.md": workflow(`START --> EXECUTE_E["Execute: echo ${places}"]`) }, { A }],
      [
        "STATE_TOO_LONG",
        {
          "a.md": workflow(
            Array.from(
              { length: 12 },
              (_, n) => `${n === 0 ? "START" : `SET_V${n - 1}`} --> SET_V${n}["Set: V${n}={{A}}"]`,
            ).join("\n"),
          ),
        },
        { A },
      ],
      [
        "MATCH_TOO_COSTLY",
        { "a.md": workflow("START --> CHECK_K{\"Check: A MATCHES 'x[xy]{5000}z'\"} -->|FALSE| SUCCESS") },
        { A },
      ],
    ];
    const neighbour = {
      "a.md": workflow('START --> SET_A["Set: A=1"] --> PROMPT_P["Prompt: User P"] --> SET_B["Set: B={{A}}"]', {
        "User P": "hello",
      }),
    };
    const hurt: [string, string][] = [];
    const fine: string[] = [];
    for (let round = 0; round < 4; round++) {
      for (const [code, files, variables] of bombs) {
        hurt.push([code, await mill.start(files, { variables })]);
        fine.push(await mill.start(neighbour));
      }
    }
    for (const [code, id] of hurt) {
      const run = await mill.ended(id);
      expect(run).toMatchObject({ status: "failed", reason: { code } });
    }
    for (const id of fine) expect(await mill.ended(id)).toMatchObject({ status: "success", result: "fine" });
    expect(worker.process.exitCode).toBeNull();
    const status = await readFile(`/proc/${worker.process.pid}/status`, "utf8");
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    console.log(`the worker's memory at its peak: ${Math.round(peak)} MB`);
    expect(peak).toBeLessThan(mostMegabytes);
    for (const [, id] of hurt.slice(0, bombs.length)) {
      expect((await replayRun(mill.store.database, mill.store.definitions, id)).differences).toEqual([]);
    }
  });
});

describe("errors inside the store", () => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await freshDatabase();
    store = await openStore({ url: database.url, worker: "one", leaseMs: 3_000 });
  });
  afterAll(async () => {
    await store?.close();
    await database?.drop();
  });

  const end: Node = { kind: "end", outcome: "success" };
  const assign: Node = { kind: "assign", value: { from: "literal", text: "a" } };

  it("a step that throws ends its own run with a stable code, and runs of the same commit continue", async () => {
    const defect = program({ n0: assign, n1: { kind: "assign", value: null } as unknown as Node, end }, [
      { from: "n0", to: "n1", on: "ok" },
      { from: "n1", to: "end", on: "ok" },
    ]);
    const bad = await createRun(store, { definition: definition({ main: defect }) });
    const good = await Promise.all(
      Array.from({ length: 20 }, () => createRun(store, { definition: definition({ main: chain(2) }) })),
    );
    const committed = await Promise.all([bad, ...good].map(({ jobs }) => perform(store, only(jobs))));
    expect(committed.map(({ kind }) => kind)).toEqual(Array.from({ length: 21 }, () => "committed"));
    expect(await getRun(store.database, bad.runId)).toMatchObject({ status: "failed", reason: { code: "ENGINE_BUG" } });
    for (const { runId } of good)
      expect(await getRun(store.database, runId)).toMatchObject({ status: "doing", rev: 2 });
    expect((await replayRun(store.database, store.definitions, bad.runId)).differences).toEqual([]);
    // A repeated delivery finds nothing to do.
    expect((await store.claim(only(bad.jobs))).kind).toBe("stale");
  });

  it("a defect in a called run does not prevent its caller from ending", async () => {
    const caller = program({ call: { kind: "call", program: "callee" }, end }, [{ from: "call", to: "end", on: "ok" }]);
    const defect = program({ n0: assign, n1: { kind: "assign", value: null } as unknown as Node, end }, [
      { from: "n0", to: "n1", on: "ok" },
    ]);
    const made = await createRun(store, { definition: definition({ main: caller, callee: defect }) });
    const claim = await claimed(store, only(made.jobs));
    const called = await startCall(store, claim.run, claim.activity, "job");
    const broken = await perform(store, only(called.jobs));
    const back = await claimed(store, only(broken.jobs));
    await store.commit({
      run: back.run,
      source: back.activity,
      event: succeeded(store, back, back.activity.outcome ?? { kind: "done" }),
    });
    expect(await getRun(store.database, made.runId)).toMatchObject({
      status: "failed",
      reason: { code: "CALL_FAILED" },
    });
  });

  it("a run whose state has a newer form is neither claimed, nor counted as taken over, nor failed", async () => {
    const { runId, jobs } = await createRun(store, { definition: definition({ main: onePrompt }) });
    const other = await openStore({ url: database.url, worker: "other", leaseMs: 100 });
    const kept = await store.database.calm.query<{ kept: string }>("select kept from runs where id = $1", [runId]);
    const text = kept.rows[0]?.kept ?? "";
    const newer = text.replace(/^\{"form":\d+/, '{"form":99');
    expect(newer).not.toBe(text);
    await store.database.calm.query("update runs set kept = $2 where id = $1", [runId, newer]);
    for (let time = 0; time < 3; time++) {
      await expect(other.claim(only(jobs))).rejects.toMatchObject({ code: "STORE_STATE_NEWER" });
    }
    const { rows } = await store.database.calm.query(
      "select state, claim, takeovers from activities where run_id = $1",
      [runId],
    );
    expect(rows).toEqual([{ state: "ready", claim: 0, takeovers: 0 }]);
    // An old program wrote the state without a number.
    await store.database.calm.query("update runs set kept = $2 where id = $1", [
      runId,
      text.replace(/^\{"form":\d+,/, "{"),
    ]);
    expect((await other.claim(only(jobs))).kind).toBe("claimed");
    await other.close();
  });

  it("a watch survives foreign notifications, and receives our own", async () => {
    // It has its own database, because commits of other tests are notified late.
    const alone = await freshDatabase();
    const notifier = await openStore({ url: alone.url });
    const notify = (channel: string, payload: string) =>
      notifier.database.calm.query("select pg_notify($1, $2)", [channel, payload]);
    const told: unknown[] = [];
    const errors: unknown[] = [];
    let connected = 0;
    const stop = watch(alone.url, {
      onRuns: (ids) => {
        if (ids.includes("throw")) throw new Error("a watcher's own trouble");
        told.push(ids);
      },
      onControl: (control) => told.push(control),
      onConnected: () => {
        connected += 1;
      },
      onError: (error) => errors.push(error),
    });
    await expect.poll(() => connected).toBe(1);
    const foreign = [
      "",
      "garbage",
      "{",
      "null",
      "3",
      '"x"',
      "{}",
      "[]x",
      "[1]",
      '[["a"]]',
      '{"runId":1,"epoch":1}',
      '{"runId":"a"}',
      '{"runId":"a","epoch":"1"}',
      '{"runId":"a","epoch":1e999}',
      "x".repeat(7_999),
      '["throw"]',
    ];
    for (const channel of ["markmill_events", "markmill_control"]) {
      for (const payload of foreign) await notify(channel, payload);
    }
    await notify("markmill_events", '["a"]');
    await notify("markmill_control", '{"runId":"b","epoch":2}');
    await expect.poll(() => told.length).toBe(2);
    expect(told).toEqual([["a"], { runId: "b", epoch: 2 }]);
    expect(connected).toBe(1);
    await stop();
    await notifier.close();
    await alone.drop();
  });

  it("blobs are kept by their references and deleted with the last one, without reading runs", async () => {
    const ask = async (text: string) => (await store.database.calm.query(text)).rows;
    const hash = await saveBlob(store, Buffer.from("a submission"));
    const { runId } = await createRun(store, {
      definition: definition({ main: chain(1) }),
      submission: { blob: hash },
    });
    const { runId: second } = await createRun(store, {
      definition: definition({ main: chain(1) }),
      options: { files: [{ blob: hash }] },
    });
    expect(await ask(`select kind, referrer from blob_references where hash = '${hash}' order by referrer`)).toEqual(
      [runId, second].sort().map((referrer) => ({ kind: "run", referrer })),
    );
    await ask("update blobs set created_at = created_at - interval '2 days'");
    await deleteOrphans(store, 86_400_000);
    expect(await loadBlob(store, hash)).not.toBeNull();
    for (const [id, left] of [
      [runId, [{ referrer: second }]],
      [second, []],
    ] as const) {
      await ask(`update runs set ended_at = clock_timestamp() - interval '1 day' where id = '${id}'`);
      await deleteOrphans(store, 86_400_000);
      expect(await loadBlob(store, hash)).not.toBeNull();
      await deleteOldRuns(store.database, 1_000);
      expect(await ask(`select referrer from blob_references where hash = '${hash}'`)).toEqual(left);
    }
    await deleteOrphans(store, 86_400_000);
    expect(await loadBlob(store, hash)).toBeNull();
  });

  it("ceilings apply whatever a workflow and a request contain", async () => {
    const ceilings = { ...defaultCeilings, steps: 3, runsPerRoot: 2, depth: 1, blobBytes: 10, valueCharacters: 2_000 };
    const small = await openStore({ url: database.url, worker: "small", ceilings });
    const long = await createRun(small, { definition: definition({ main: chain(9) }), caps: { steps: 1_000_000 } });
    let { jobs } = long;
    for (let step = 0; step < 3; step++) ({ jobs } = await perform(small, only(jobs)));
    expect(await getRun(store.database, long.runId)).toMatchObject({
      status: "failed",
      reason: { code: "LIMIT_STEPS" },
    });
    const again = await forkRun(small, "default", {
      of: long.runId,
      from: ["n1"],
      caps: { steps: 1_000_000, depth: 9 },
    });
    ({ jobs } = again);
    for (let step = 0; step < 2; step++) ({ jobs } = await perform(small, only(jobs)));
    expect(await getRun(store.database, again.runId)).toMatchObject({
      status: "failed",
      reason: { code: "LIMIT_STEPS" },
    });
    const wide = await createRun(small, {
      definition: definition({ main: chain(1) }),
      variables: { A: "x".repeat(2_001) },
    });
    expect(await getRun(store.database, wide.runId)).toMatchObject({
      status: "failed",
      reason: { code: "VALUE_TOO_LONG" },
    });
    const hash = await saveBlob(store, Buffer.alloc(11));
    await expect(
      createRun(small, { definition: definition({ main: chain(1) }), submission: { blob: hash } }),
    ).rejects.toMatchObject({ code: "STORE_TOO_LARGE" });
    await small.close();
  });

  it("each start of a process has a unique name", async () => {
    const stores = await Promise.all([1, 2].map(() => openStore({ url: database.url })));
    expect(new Set(stores.map(({ worker }) => worker)).size).toBe(2);
    for (const one of stores) await one.close();
  });
});

describe("a tree of runs", () => {
  it("contains no more runs than the operator allows", async () => {
    const mill = await startMill({
      backend: "postgres",
      script: 'rules: [{ when: { pattern: "." }, reply: "x" }]',
      environment: { CEILING_RUNS: "4" },
    });
    const run = await mill.run(
      { "a.md": workflow("START --> CALL_B[[b.md]] --> CALL_B"), "b.md": workflow("START --> SUCCESS") },
      { variables: { MAX_ACTIVITY_HITS: "1000" } },
    );
    expect(run).toMatchObject({ status: "failed", reason: { code: "LIMIT_RUNS" } });
    const { rows } = await mill.store.database.calm.query("select count(*)::integer as runs from runs");
    expect(rows).toEqual([{ runs: 4 }]);
    await mill.close();
  });
});

it("a conversation that is too long for any model fails its prompt before it is read", async () => {
  const script = 'rules: [{ when: { pattern: "." }, reply: "x" }]';
  const mill = await startMill({ backend: "postgres", script });
  const files = {
    "a.md": workflow('START --> PROMPT_P["Prompt: User P"] --> ASK_A[/"Ask: go on?"/] --> PROMPT_Q["Prompt: User P"]', {
      "User P": "hello",
    }),
  };
  const runId = await mill.start(files);
  const ask = async () =>
    (await mill.store.database.calm.query("select 1 from asks where run_id = $1", [runId])).rowCount;
  await expect.poll(ask).toBe(1);
  await mill.store.database.calm.query(
    `insert into messages (thread, run_id, seq, position, role, text)
     select thread, run_id, seq, position + 10 * n, role, repeat('x', 1000000) from messages, generate_series(1, 20) n where run_id = $1`,
    [runId],
  );
  const [open] = await openAsks(mill.store.database);
  const answered = await answerAsk(mill.store, open?.activityId ?? 0, "yes", "me");
  await mill.queues.enqueue(answered.jobs);
  expect(await mill.ended(runId)).toMatchObject({ status: "failed", reason: { code: "STORE_TOO_LARGE" } });
  await mill.close();
});
