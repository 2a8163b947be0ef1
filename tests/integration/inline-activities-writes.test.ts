import type { Event } from "@markmill/engine";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import type { TestDatabase } from "../support/postgres.ts";
import {
  cancelRun,
  createRun,
  getHistory,
  getRun,
  openStore,
  readyJobs,
  replayRun,
  resumeRun,
  type Store,
  startCall,
  stopRun,
} from "../support/store.ts";
import { expectExactReplay, openTwoStores } from "../support/two-stores.ts";
import { assign, branches, end, failing, finish, pause, set, two } from "./inline-programs.ts";
import { chain, claimed, definition, oneCall, only, perform, program, succeeded } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
/** A second process: it shares nothing with the first but the database. */
let other: Store;

openTwoStores(
  (opened) => {
    ({ database, store, other } = opened);
  },
  // Some runs have a thousand nodes. On a busy machine their statements may take longer than the usual limit of a query.
  { queryTimeoutMs: 120_000 },
);

async function rowOf(runId: string): Promise<Record<string, unknown>> {
  const { rows } = await store.database.calm.query("select * from runs where id = $1", [runId]);
  return rows[0] ?? {};
}
const replaysExactly = (runId: string) => expectExactReplay(store, runId);

describe("writes of inline activities", () => {
  it("hostile texts, names and ids are read back unchanged", async () => {
    const hostile = "a\u001eb\0c\ud800d\"e\\f'g,{h}\u2028NULL";
    const kept = "a\u001eb\ufffdc\ufffdd\"e\\f'g,{h}\u2028NULL";
    const ids = ["NULL", 'quote" \\ { , }', "it's\u001e\n", "", "ü😀"].map((id) => `${id}-${Math.random()}`);
    const main = program(
      { "n\u001e\"'": set('V"\u001e', hostile.replace("\0", "").replace("\ud800", "")), check: assign("x"), end },
      [
        { from: "n\u001e\"'", to: "check", on: "ok" },
        { from: "check", to: "end", on: "ok" },
      ],
    );
    const one = definition({ main });
    const made = await Promise.all(
      ids.map((id) => createRun(store, { id, definition: one, variables: { ESSAY: hostile, "K\u001e": "\u001e" } })),
    );
    const next = await Promise.all(made.map(({ jobs }) => perform(store, only(jobs))));
    await Promise.all(next.map(({ jobs }) => perform(other, only(jobs))));
    for (const id of ids) {
      const run = await getRun(store.database, id);
      expect(run).toMatchObject({ id, status: "success", result: "x", rev: 3 });
      expect(run?.variables).toMatchObject({ ESSAY: kept, "K\u001e": "\u001e" });
      expect(run?.variables['V"\u001e']).toBe(kept.replaceAll("\ufffd", ""));
      await replaysExactly(id);
    }
  });

  it("rare fields of one run are neither lost nor written to other runs of the same statement", async () => {
    const usage = { calls: 2, promptTokens: 30, completionTokens: 4, characters: 9, nanodollars: 700 };
    const main = program(
      { say: { kind: "prompt", text: { from: "literal", text: "?" } }, a: assign("a"), b: assign("b"), end },
      [
        { from: "say", to: "a", on: "ok" },
        { from: "a", to: "b", on: "ok" },
        { from: "b", to: "end", on: "ok" },
      ],
    );
    const paid = await createRun(store, { definition: definition({ main }), caps: { timeMs: 600_000 } });
    const plain = await createRun(store, { definition: definition({ main: chain(2) }), caps: { timeMs: 600_000 } });
    const short = await createRun(store, { definition: definition({ main: chain(1) }) });
    const claim = await claimed(store, only(paid.jobs));
    const event = { ...succeeded(store, claim, { kind: "replied", text: "!" }), usage } as Event;
    // One run pays, one ends, and one does neither, in one statement.
    const [first, second] = await Promise.all([
      store.commit({ run: claim.run, source: claim.activity, event }),
      perform(store, only(plain.jobs)),
      perform(store, only(short.jobs)),
    ]);
    // The sum of the events. The figures for people are sums over the account of requests.
    const told = async (runId: string) =>
      (await store.database.calm.query("select kept::json -> 'spent' as spent from runs where id = $1", [runId]))
        .rows[0]?.spent;
    const spent = { calls: 2, promptTokens: 30, completionTokens: 4, nanodollars: 700 };
    expect(await told(paid.runId)).toMatchObject(spent);
    expect(await getRun(store.database, paid.runId)).toMatchObject({ status: "doing", result: null });
    expect((await getRun(store.database, paid.runId))?.deadline).not.toBeNull();
    expect(await told(plain.runId)).toMatchObject({ calls: 0 });
    expect(await getRun(store.database, plain.runId)).toMatchObject({ spent: { calls: 0 }, word: null, result: null });
    expect((await getRun(store.database, plain.runId))?.deadline).not.toBeNull();
    expect(await getRun(store.database, short.runId)).toMatchObject({ status: "success", result: "step 0" });
    await Promise.all([finish(store, first.jobs), finish(store, second.jobs)]);
    for (const [runId, result] of [
      [paid.runId, "b"],
      [plain.runId, "step 1"],
    ] as const) {
      expect(await getRun(store.database, runId)).toMatchObject({ status: "success", result, deadline: null });
    }
    expect(await told(paid.runId)).toMatchObject(spent);
  });

  it("statements of many parts get different short names", async () => {
    // The program ends with open activities, a note and a reply. As a callee it also enqueues its caller.
    const main = program(
      {
        left: { kind: "prompt", text: { from: "literal", text: "l?" }, agent: "left" },
        right: { kind: "prompt", text: { from: "literal", text: "r?" }, agent: "right" },
        end,
      },
      [{ from: "left", to: "end", on: "ok" }],
      { entry: ["left", "right"] },
    );
    const both = definition({ main: oneCall, main2: main, callee: main });
    const hasty = await openStore({ url: database.url, worker: "hasty" });
    const reply = { kind: "replied", text: "done", notes: ["cut short"] } as const;
    for (let i = 0; i < 3; i++) {
      const alone = await createRun(hasty, { definition: both, program: "main2" });
      const caller = await createRun(hasty, { definition: both });
      const call = await claimed(hasty, only(caller.jobs));
      const callee = await startCall(hasty, call.run, call.activity, null);
      for (const jobs of [alone.jobs, callee.jobs]) {
        const [left] = two(jobs);
        expect((await perform(hasty, left, reply)).kind).toBe("committed");
        expect(await getRun(store.database, left.runId)).toMatchObject({ status: "success", result: "done" });
      }
    }
    await hasty.close();
  });

  it("a creation waits for new ids beyond the timeout of one query", async () => {
    const impatient = await openStore({ url: database.url, worker: "impatient", queryTimeoutMs: 400 });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query("begin");
    await client.query("alter sequence markmill.inline_activity_ids owned by none");
    const making = createRun(impatient, { definition: definition({ main: chain(1) }) });
    await pause(900);
    await client.query("rollback");
    await client.end();
    expect((await making).jobs).toHaveLength(1);
    await impatient.close();
  });
});

describe("the history of a running run", () => {
  it("contains every activity once", async () => {
    const steps = 400;
    const { runId, jobs } = await createRun(store, { definition: definition({ main: chain(steps) }) });
    let ended = false;
    let looks = 0;
    // After every 20 steps the run waits for a read, so that a slow reader reads as often as a fast one.
    const going = (async () => {
      let next = [...jobs];
      for (let step = 0; next.length > 0; step += 1) {
        for (const seen = looks; step % 20 === 0 && looks === seen; ) await pause(1);
        next = [...(await perform(store, only(next))).jobs];
      }
    })().finally(() => {
      ended = true;
    });
    while (!ended) {
      const { entries, activities } = await getHistory(other.database, runId);
      const done = entries.filter(({ kind }) => kind === "event").length - 1;
      const open = done === steps ? 0 : 1;
      expect(activities.filter(({ state }) => state === "done")).toHaveLength(done);
      expect(activities.filter(({ state }) => state === "ready")).toHaveLength(open);
      expect(new Set(activities.map(({ id }) => id)).size).toBe(done + open);
      looks += 1;
    }
    await going;
    expect(looks).toBeGreaterThanOrEqual(20);
  });
});

describe("parallel groups of writes", () => {
  it("one bad event fails alone, and the groups beside it continue", async () => {
    const busy = await openStore({ url: database.url, worker: "busy", mostPerCommit: 8 });
    const one = definition({ main: branches(2) });
    const made = await Promise.all(Array.from({ length: 60 }, () => createRun(busy, { definition: one })));
    const claims = await Promise.all(made.flatMap(({ jobs }) => jobs.map((job) => claimed(busy, job))));
    const results = await Promise.allSettled(
      claims.map((claim, i) => {
        const event = succeeded(busy, claim, { kind: "done" });
        return busy.commit({
          run: claim.run,
          source: claim.activity,
          event: i % 40 === 7 ? { ...event, at: 1e300 } : event,
        });
      }),
    );
    expect(results.flatMap(({ status }, i) => (status === "rejected" ? i : []))).toEqual([7, 47, 87]);
    // The bad ones are still open, and are delivered again.
    const next = results.flatMap((result) => (result.status === "fulfilled" ? result.value.jobs : []));
    const open = await readyJobs(
      other.database.calm,
      made.map(({ runId }) => runId),
    );
    expect(open).toHaveLength(next.length + 3);
    await Promise.all(
      made.map(({ runId }) =>
        finish(
          busy,
          open.filter((job) => job.runId === runId),
        ),
      ),
    );
    for (const { runId } of made) expect(await rowOf(runId)).toMatchObject({ status: "success", rev: 5, inline: null });
    await replaysExactly(made[3]?.runId ?? "");
    await busy.close();
  });

  it("two processes on the same calls and runs lose and double none", async () => {
    const one = definition({ main: oneCall, callee: branches(2) });
    const made = await Promise.all(Array.from({ length: 20 }, () => createRun(store, { definition: one })));
    const played = async (by: Store) => {
      for (let open = made.map(({ runId }) => runId); open.length > 0; ) {
        await Promise.all(
          open.map(async (runId) => {
            const { rows } = await by.database.calm.query<{ id: string }>("select id from runs where root_id = $1", [
              runId,
            ]);
            for (const job of await readyJobs(
              by.database.calm,
              rows.map(({ id }) => id),
            )) {
              const claim = await by.claim(job);
              if (claim.kind !== "claimed") continue;
              const { run, activity } = claim;
              if (activity.kind === "call" && activity.outcome === null) await startCall(by, run, activity, null);
              else
                await by.commit({
                  run,
                  source: activity,
                  event: succeeded(by, claim, activity.outcome ?? { kind: "done" }),
                });
            }
          }),
        );
        const { rows } = await by.database.calm.query<{ id: string }>(
          "select id from runs where id = any($1) and ended_at is null",
          [open],
        );
        open = rows.map(({ id }) => id);
      }
    };
    await Promise.all([played(store), played(other)]);
    for (const { runId } of made) {
      const { rows } = await store.database.calm.query(
        "select id, status, rev from runs where root_id = $1 order by rev",
        [runId],
      );
      expect(rows).toMatchObject([
        { id: runId, status: "success", rev: 2 },
        { status: "success", rev: 5 },
      ]);
      await replaysExactly(rows[1]?.id);
    }
  });
});

describe("a run with a random history", () => {
  const retry = { attempts: 3, baseMs: 0, factor: 1, maxMs: 0 };
  const mixed = program(
    {
      ...Object.fromEntries(Object.entries(branches(2).nodes).map(([name, node]) => [name, { ...node, retry }])),
      say: { kind: "prompt", text: { from: "literal", text: "?" }, retry },
      check: {
        kind: "check",
        condition: { op: "contains", left: { from: "name", name: "b0" }, right: { from: "literal", text: "first" } },
      },
      sorry: set("SORRY", "yes"),
    },
    [
      ...branches(2).edges,
      { from: "say", to: "check", on: "ok" },
      { from: "check", to: "all", on: "ok" },
      { from: "check", to: "all", on: "fail" },
    ],
    { entry: ["b0", "say", "b1"], handlers: { success: null, failed: "sorry" } },
  );

  /** The open activities of the state are exactly those on the run's row and those with an open row. */
  async function agrees(runId: string): Promise<void> {
    const { state, differences } = await replayRun(store.database, store.definitions, runId);
    expect(differences).toEqual([]);
    const { activities } = await getHistory(store.database, runId);
    const open = activities.filter(
      (one) => one.state === "ready" || one.state === "claimed" || one.state === "waiting",
    );
    const names = (refs: readonly { node: string; attempt: number }[]) =>
      refs.map(({ node, attempt }) => `${node} ${attempt}`).sort();
    const asked = state.phase.is === "stopped" ? [] : Object.values(state.active).map(({ ref }) => ref);
    expect(names(open)).toEqual(names(asked));
    expect((await readyJobs(store.database.calm, [runId])).length).toBe(asked.length);
  }

  const seeds = Array.from({ length: inject("thorough") ? 12 : 4 }, (_, index) => index + 1);
  it.each(seeds)("waits for exactly its open activities, and ends (seed %i)", async (seed) => {
    let random = seed;
    const chance = () => {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      return random / 2 ** 32;
    };
    const { runId, jobs } = await createRun(store, { definition: definition({ main: mixed }) });
    let told = jobs;
    for (let turn = 0; turn < 200; turn++) {
      await agrees(runId);
      // Sometimes all jobs are lost.
      if (chance() < 0.3) told = await readyJobs(other.database.calm, [runId]);
      const job = told[Math.floor(chance() * told.length)];
      if (job === undefined) {
        told = await readyJobs(other.database.calm, [runId]);
        if (told.length === 0) break;
        continue;
      }
      const by = chance() < 0.5 ? store : other;
      const luck = chance();
      if (luck < 0.12) {
        await stopRun(by, runId);
        await agrees(runId);
        told = (await resumeRun(chance() < 0.5 ? store : other, runId)).jobs;
      } else if (luck < 0.15) {
        await cancelRun(by, runId, "enough");
      } else {
        const both = luck < 0.4 ? [store, other] : [by];
        const committed = await Promise.all(
          both.map(async (one) => {
            const claim = await one.claim(job);
            if (claim.kind !== "claimed") return [];
            const { run, activity } = claim;
            const event =
              luck > 0.8
                ? failing(one, claim, luck > 0.97 ? "fail" : "retry")
                : succeeded(one, claim, activity.kind === "prompt" ? { kind: "replied", text: "!" } : { kind: "done" });
            return (await one.commit({ run, source: activity, event })).jobs;
          }),
        );
        told = [...told.filter((one) => one !== job), ...committed.flat()];
      }
    }
    await agrees(runId);
    expect(["success", "failed", "cancelled"]).toContain((await getRun(store.database, runId))?.status);
    expect(await rowOf(runId)).toMatchObject({ inline: null });
  });
});
