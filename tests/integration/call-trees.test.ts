/**
 * Limits over trees of calls. With any number of parallel calls and workers, no workflow of a tree exceeds its own limit. One worker of
 * this process and two worker processes, on both queue backends.
 */
import type { Edge, Limits, Node, Program } from "@markmill/engine";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Backend, type Mill, startMill } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { answerAsk, createRun, forkRun, openAsks, type RunDetail, replayRun, spentOf } from "../support/store.ts";
import { definition, program } from "./store-programs.ts";

const withRedis = await redisAvailable("limits over trees of calls, on Redis");
const backends: Backend[] = withRedis ? ["postgres", "redis"] : ["postgres"];
const script = `default: { reply: "heard it all, and a few words more", delay: 20ms }`;

const end: Node = { kind: "end", outcome: "success" };
const settings = { maxOutputTokens: 100 };
const usual: Limits = {
  hits: 100,
  steps: 1_000,
  depth: 5,
  nanodollars: null,
  tokens: null,
  characters: null,
  timeMs: null,
};
const limited = (more: Partial<Limits>): Partial<Program> => ({ limits: { ...usual, ...more }, settings });
const items = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => `item ${index}`));

/** This number of parallel branches, each with `each`. */
function many(each: Extract<Node, { kind: "map" }>["each"], count: number, more: Partial<Program> = {}): Program {
  const map: Node = {
    kind: "map",
    over: { from: "literal", text: items(count) },
    each,
    concurrency: count,
    itemError: "fail",
    minSuccess: 1,
  };
  return program({ map, end }, [{ from: "map", to: "end", on: "ok" }], { ...limited({}), ...more });
}
const ask = { kind: "prompt", text: { from: "literal", text: "Say something about this." } } as const;

function chainOf(nodes: readonly Node[], more: Partial<Program> = {}): Program {
  const named = Object.fromEntries(nodes.map((node, index) => [`n${index}`, node]));
  const edges = nodes.map(
    (_, index): Edge => ({ from: `n${index}`, to: nodes[index + 1] ? `n${index + 1}` : "end", on: "ok" }),
  );
  return program({ ...named, end }, edges, { ...limited({}), ...more });
}
const calls = (of: string, more: Partial<Program> = {}) => chainOf([{ kind: "call", program: of }], more);

describe.each(backends)("called runs on %s", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on both. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script, environment: { CEILING_RUNS: "60" } });
    await Promise.all([mill.spawnWorker(), mill.spawnWorker()]);
  });
  afterAll(() => mill?.close());

  async function run(programs: Record<string, Program>): Promise<RunDetail> {
    const { runId, jobs } = await createRun(mill.store, { definition: definition(programs) });
    await mill.queues.enqueue(jobs);
    return mill.ended(runId);
  }
  const spent = ({ id }: RunDetail) => spentOf(mill.store.database, id);
  async function replaysExactly(rootId: string): Promise<void> {
    const { rows } = await mill.store.database.calm.query<{ id: string }>("select id from runs where root_id = $1", [
      rootId,
    ]);
    for (const { id } of rows) {
      expect((await replayRun(mill.store.database, mill.store.definitions, id)).differences).toEqual([]);
    }
  }

  describe("a called workflow with its own limit", () => {
    const caps = [
      ["cost", { nanodollars: 700_000 }, "LIMIT_COST"],
      ["tokens", { tokens: 400 }, "LIMIT_TOKENS"],
      ["characters", { characters: 200 }, "LIMIT_CHARACTERS"],
    ] as const;

    it.each(caps)("spends no more %s under two callers than when it runs alone", async (_, cap, code) => {
      const callee = many(ask, 12, limited(cap));
      const alone = await run({ callee });
      const below = await run({ main: calls("middle"), middle: calls("callee"), callee });
      for (const one of [alone, below]) expect(one).toMatchObject({ status: "failed", reason: { code } });
      for (const one of [alone, below]) {
        const { nanodollars, promptTokens, completionTokens, characters } = await spent(one);
        if ("nanodollars" in cap) expect(nanodollars).toBeLessThanOrEqual(cap.nanodollars);
        if ("tokens" in cap) expect(promptTokens + completionTokens).toBeLessThanOrEqual(cap.tokens);
        // Every sent request fits into the limit. A reply counts when it arrives.
        if ("characters" in cap) expect(characters).toBeLessThanOrEqual(cap.characters + 8 * 34);
      }
      await replaysExactly(below.id);
    });

    once("keeps to it in every call of a loop, in parallel calls, and in its handler", async () => {
      const cost = 700_000;
      const callee = many(ask, 6, {
        ...limited({ nanodollars: cost }),
        handlers: { success: null, failed: "report" },
      });
      const reporting = {
        ...callee,
        nodes: { ...callee.nodes, report: { ...ask, settings: { maxOutputTokens: 40 } } },
      };
      const failing: Program = { ...many({ kind: "call", program: "callee" }, 5), scheduling: "superstep" };
      const root = await run({ main: failing, callee: reporting });
      expect(root).toMatchObject({ status: "failed", reason: { code: "LIMIT_COST" } });
      const { rows } = await mill.store.database.calm.query<{ id: string; spent: number; reported: number }>(
        `select r.id, (select coalesce(sum(c.nanodollars), 0)::bigint from charges c where c.run_id = r.id) as spent,
           (select count(*)::integer from activities a where a.run_id = r.id and a.node = 'report' and a.state = 'done') as reported
         from runs r where r.root_id = $1 and r.id <> $1`,
        [root.id],
      );
      expect(rows.length).toBeGreaterThan(0);
      for (const { spent: own } of rows) expect(own).toBeLessThanOrEqual(cost);
      // The first failed call still had money for its report.
      expect(Math.max(...rows.map(({ reported }) => reported))).toBe(1);
    });

    once("gets a new budget when the tree is retried, with as much as its limit allows", async () => {
      const callee = many(ask, 12, limited({ tokens: 400 }));
      const failed = await run({ main: calls("callee"), callee });
      expect(failed).toMatchObject({ status: "failed", reason: { code: "LIMIT_TOKENS" } });
      const fork = await forkRun(mill.store, "default", { of: failed.id, from: null });
      await mill.queues.enqueue(fork.jobs);
      const again = await mill.ended(fork.runId);
      expect(again).toMatchObject({ status: "failed", reason: { code: "LIMIT_TOKENS" } });
      const { promptTokens, completionTokens } = await spent(again);
      expect(promptTokens + completionTokens).toBeLessThanOrEqual(400);
      const left =
        "select count(*)::integer as n from budgets where id in (select id from runs where root_id = any($1))";
      const budgets = async () =>
        (await mill.store.database.calm.query<{ n: number }>(left, [[failed.id, again.id]])).rows;
      expect(await budgets()).toEqual([{ n: 2 }]);
      await mill.store.as("default").runs.delete(failed.id);
      await mill.store.as("default").runs.delete(again.id);
      expect(
        (await mill.store.database.calm.query("select 1 from budgets where for_run and id <> all(select id from runs)"))
          .rows,
      ).toEqual([]);
    });
  });

  describe("steps of a tree of runs with parallel calls", () => {
    const assign: Node = { kind: "assign", value: { from: "literal", text: "x" } };
    const five = chainOf(Array.from({ length: 5 }, () => assign));
    const callsOfFive = (count: number, steps: number) => ({
      main: many({ kind: "call", program: "five" }, count, limited({ steps })),
      five,
    });
    /** Activities of all runs of a tree, finished or not. */
    async function begun(rootId: string): Promise<number> {
      const text =
        "select count(*)::integer as n from run_activities where run_id in (select id from runs where root_id = $1)";
      return (await mill.store.database.calm.query<{ n: number }>(text, [rootId])).rows[0]?.n ?? -1;
    }

    it("never exceed the limit of the tree, and end it with LIMIT_STEPS", async () => {
      const root = await run(callsOfFive(40, 60));
      expect(root).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
      // The map is a step of its own without an activity.
      expect(await begun(root.id)).toBeLessThanOrEqual(59);
      await replaysExactly(root.id);
    });

    it("can use the limit up to its last step", async () => {
      // The steps are the map, eight calls, and five steps in each.
      const root = await run(callsOfFive(8, 49));
      expect(root).toMatchObject({ status: "success" });
      const less = await run(callsOfFive(8, 48));
      expect(less).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
    });

    once("share the limit of their workflow too", async () => {
      const middle = many({ kind: "call", program: "five" }, 6, limited({ steps: 20 }));
      const root = await run({ main: many({ kind: "call", program: "middle" }, 3), middle, five });
      expect(root).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
      const { rows } = await mill.store.database.calm.query<{ n: number }>(
        `select (select count(*)::integer from run_activities a where a.run_id = m.id or a.run_id in (
             select c.id from runs c join activities p on p.id = c.parent_activity_id where p.run_id = m.id)) as n
         from runs m where m.root_id = $1 and m.program = 'middle'`,
        [root.id],
      );
      for (const { n } of rows) expect(n).toBeLessThanOrEqual(19);
    });

    once("leave the handler a separate allowance, also for calls", async () => {
      const { main } = callsOfFive(20, 30);
      const report: Node = { kind: "call", program: "five" };
      const handled = { ...main, nodes: { ...main.nodes, report }, handlers: { success: null, failed: "report" } };
      const root = await run({ main: handled, five });
      expect(root).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
      const text = `select c.status from runs c join activities p on p.id = c.parent_activity_id where p.run_id = $1 and p.node = 'report'`;
      expect((await mill.store.database.calm.query(text, [root.id])).rows).toEqual([{ status: "success" }]);
    });
  });

  it("a tree has no more runs than CEILING_RUNS, however many calls start in parallel", async () => {
    const root = await run({
      main: many({ kind: "call", program: "one" }, 100),
      one: chainOf([{ kind: "assign", value: { from: "literal", text: "x" } }]),
    });
    expect(root).toMatchObject({ status: "failed", reason: { code: "LIMIT_RUNS" } });
    const text = "select count(*)::integer as n from runs where root_id = $1";
    expect((await mill.store.database.calm.query(text, [root.id])).rows).toEqual([{ n: 60 }]);
  });

  once("waiting for people in parallel calls, and for an answer to an own question, costs no time", async () => {
    const question = chainOf([{ kind: "ask", question: "Which mark?" }, ask]);
    const { nodes, edges } = many({ kind: "call", program: "question" }, 2);
    const own: Node = { kind: "ask", question: "And you?" };
    const main = program(
      { ...nodes, own, after: ask },
      [...edges.filter(({ to }) => to !== "end"), { from: "own", to: "after", on: "ok" }],
      { ...limited({ timeMs: 8_000 }), entry: ["map", "own"] },
    );
    const created = await createRun(mill.store, { definition: definition({ main, question }) });
    await mill.queues.enqueue(created.jobs);
    const asks = () => openAsks(mill.store.database, created.runId);
    await expect.poll(async () => (await asks()).length).toBe(3);
    // The wait is far longer than the limit, which the supervisor checks every second.
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    const answer = async ({ activityId }: { readonly activityId: number }) =>
      await mill.queues.enqueue((await answerAsk(mill.store, activityId, "7", null)).jobs);
    const [first, ...others] = (await asks()).toSorted(
      (one, other) => Number(other.node === "own") - Number(one.node === "own"),
    );
    if (first === undefined) throw new Error("no question");
    expect(first.node).toBe("own");
    await answer(first);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const one of others) await answer(one);
    expect(await mill.ended(created.runId)).toMatchObject({ status: "success" });
    await replaysExactly(created.runId);
  });
});
