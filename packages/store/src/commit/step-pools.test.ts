/** Takes steps of random trees in random order: no run exceeds its limit, counted with the runs below it. */
import { type Event, initialState, type Node, type Program, type RunStarted, remainingCaps } from "@markmill/engine";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Advance, advance } from "./advance.ts";
import type { Creation } from "./rows.ts";
import { type LoadedRun, unstarted } from "./run-row.ts";
import { countingOf, fitsRoom, roomFor, type StepPool, usesPools } from "./step-pools.ts";

const end: Node = { kind: "end", outcome: "success" };
const assign: Node = { kind: "assign", value: { from: "literal", text: "x" } };

/** Some steps, then `width` parallel calls of the next level, if there is one. */
function level(number: number, deepest: number, { steps, width, before }: Shape): Program {
  const map: Node = {
    kind: "map",
    over: { from: "literal", text: Array.from({ length: width }, (_, item) => `${item}`).join("\n") },
    each: { kind: "call", program: `level${number + 1}` },
    concurrency: width,
    itemError: "collect",
    minSuccess: 0,
  };
  const names = [...Array.from({ length: before }, (_, index) => `n${index}`), ...(number < deepest ? ["map"] : [])];
  const nodes: Record<string, Node> = Object.fromEntries(names.map((name) => [name, name === "map" ? map : assign]));
  return {
    form: 1,
    dialect: "codementor",
    name: "level",
    description: "",
    params: [],
    prompts: {},
    agents: {},
    settings: {},
    nodes: { ...nodes, end },
    edges: names.map((from, index) => ({ from, to: names[index + 1] ?? "end", on: "ok" })),
    entry: [names[0] ?? "end"],
    handlers: { success: null, failed: null },
    sandbox: {},
    scheduling: "eager",
    lists: {},
    limits: { ...initialState.limits, hits: 100, steps },
    result: { take: "RESULT" },
    files: {},
  };
}

interface Shape {
  readonly steps: number;
  readonly width: number;
  readonly before: number;
}
const shapes = fc.array(
  fc.record({
    steps: fc.integer({ min: 1, max: 60 }),
    width: fc.integer({ min: 1, max: 5 }),
    before: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 2, maxLength: 4 },
);

/** The store in memory: each run's caller, and the pools, as commitLocked keeps them. */
class Tree {
  readonly runs = new Map<string, LoadedRun>();
  readonly pools = new Map<string, StepPool>();
  readonly begun = new Map<string, number>();
  readonly callers = new Map<string, { readonly run: string; readonly key: string }>();
  readonly #programs: Readonly<Record<string, Program>>;
  constructor(programs: Readonly<Record<string, Program>>) {
    this.#programs = programs;
  }

  make(path: string, caller: LoadedRun | null, key = ""): void {
    const id = `r${this.runs.size}`;
    const program = this.#programs[path];
    if (program === undefined) throw new Error(path);
    const run = unstarted({
      id,
      rootId: "r0",
      tenant: "t",
      program,
      path,
      definitionHash: "",
      parent: null,
      budgets: [],
      options: {},
      pools: caller?.pools ?? [],
    });
    const event: RunStarted = {
      type: "run.started",
      at: 0,
      seed: 0,
      run: id,
      variables: {},
      environment: {},
      caps: caller === null ? {} : remainingCaps(caller.program, caller.state, 0),
      caller: caller === null ? null : { depth: caller.state.depth + 1, agent: "", threads: {} },
    };
    if (caller !== null) this.callers.set(id, { run: caller.id, key });
    this.commit(run, event, { id } as unknown as Creation);
  }

  commit(run: LoadedRun, event: Event, creation: Creation | null = null): void {
    const locked = [...new Set([...run.pools, run.id])].flatMap((id) => this.pools.get(id) ?? []);
    const room = roomFor(run, locked);
    let decided = advance(run, event, null, creation);
    if (decided !== null && room !== null && !fitsRoom(decided, room))
      decided = advance(run, { ...event, room }, null, creation);
    if (decided === null) return;
    this.#write(decided);
  }

  #write(one: Advance): void {
    const { run, state, begun, opensPool } = one;
    const pools = opensPool ? [...run.pools, run.id] : run.pools;
    this.runs.set(run.id, { ...run, rev: run.rev + 1, state, pools, inline: [...one.stillOpen, ...one.opened] });
    this.begun.set(run.id, (this.begun.get(run.id) ?? 0) + begun.flow + begun.handler);
    if (!usesPools(one)) return;
    const { to, flow, handler, opens } = countingOf(one);
    for (const id of to) {
      const pool = this.pools.get(id);
      if (pool !== undefined) this.pools.set(id, { ...pool, used: pool.used + flow + handler });
    }
    if (opens !== null) this.pools.set(run.id, { run_id: run.id, ...opens });
  }

  below(id: string): number {
    const callees = [...this.callers].flatMap(([callee, caller]) => (caller.run === id ? [callee] : []));
    return callees.reduce((sum, callee) => sum + this.below(callee), this.begun.get(id) ?? 0);
  }
}

it("no run exceeds its step limit, counted with the runs below it, in any order and with any number of parallel calls", () => {
  fc.assert(
    fc.property(shapes, fc.array(fc.nat(1_000), { minLength: 50, maxLength: 200 }), (levels, choices) => {
      const programs = Object.fromEntries(
        levels.map((shape, index) => [`level${index}`, level(index, levels.length - 1, shape)]),
      );
      const tree = new Tree(programs);
      tree.make("level0", null);
      for (const choice of choices) {
        const open = [...tree.runs.values()].filter(({ state }) => state.phase.is === "doing");
        const run = open[choice % Math.max(1, open.length)];
        if (run === undefined) break;
        const active = Object.entries(run.state.active);
        const [key, { ref }] = active[choice % active.length] ?? ["", { ref: null }];
        if (ref === null) continue;
        const callee = [...tree.callers].find(([, caller]) => caller.run === run.id && caller.key === key)?.[0];
        const about = { at: 0, seed: 0, epoch: run.state.epoch, activity: ref, usage: null };
        if (ref.node !== "map") {
          tree.commit(run, { type: "activity.succeeded", ...about, outcome: { kind: "done" } });
        } else if (callee === undefined) {
          tree.make(`level${Number(run.path.slice(5)) + 1}`, run, key);
        } else {
          const { phase, spent } = tree.runs.get(callee)?.state ?? initialState;
          if (phase.is !== "ended") continue;
          const returned = { kind: "returned", word: null, result: "", variables: {}, steps: spent.steps } as const;
          const { status, reason } = phase;
          tree.commit(run, { type: "activity.succeeded", ...about, outcome: { ...returned, status, reason } });
        }
        for (const one of tree.runs.values()) expect(tree.below(one.id)).toBeLessThanOrEqual(one.state.limits.steps);
      }
    }),
    { numRuns: 300, seed: 20 },
  );
});
