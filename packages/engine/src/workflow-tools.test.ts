import { describe, expect, it } from "vitest";
import type { ActivityRef } from "./activity.ts";
import { carryOver } from "./carry-to-program.ts";
import type { Command } from "./command.ts";
import type { ActivitySucceeded, Event, Outcome } from "./event.ts";
import { forkAtFailure, forkAtNode } from "./fork.ts";
import type { Program } from "./program.ts";
import { initialState, type RunState } from "./state.ts";
import { outstanding, step } from "./step.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const prompt = { kind: "prompt", text: { from: "literal", text: "a" }, tools: ["look"] } as const;
const tools: Program["tools"] = {
  look: { kind: "workflow", program: "look.wf.md", description: "", schema: { type: "object" } },
  page: { kind: "http", method: "GET", url: "https://h/", description: "", schema: { type: "object" } },
};
const asking = (more: Partial<Program> = {}) =>
  programOf(
    { START: start, P: prompt, ON_FAILED: start, SET_R: { kind: "assign", value: { from: "literal", text: "r" } } },
    edgesOf("START P", "ON_FAILED SET_R"),
    { handlers: { success: null, failed: "ON_FAILED" }, tools, ...more },
  );

const at = (item: number | null, attempt = 1): ActivityRef => ({ node: "P", generation: 1, item, attempt });
const calling = (...given: readonly string[]): Outcome => ({
  kind: "called",
  calls: given.map((what, position) => ({
    tool: "look",
    place: { callIndex: 0, requestHash: "h", position },
    variables: { WHAT: what },
  })),
});
const returned = (more: Partial<Extract<Outcome, { kind: "returned" }>> = {}): Outcome => ({
  kind: "returned",
  status: "success",
  word: null,
  result: "found",
  variables: {},
  reason: null,
  ...more,
});
const replied: Outcome = { kind: "replied", text: "answer" };
const succeeded = (activity: ActivityRef, outcome: Outcome, epoch = 1): ActivitySucceeded => ({
  type: "activity.succeeded",
  at: 2_000,
  seed: 1,
  epoch,
  activity,
  outcome,
  usage: null,
});

interface Followed {
  readonly state: RunState;
  readonly last: readonly Command[];
  readonly events: readonly Event[];
}

function follow(program: Program, ...events: readonly Event[]): Followed {
  let state = initialState;
  let last: readonly Command[] = [];
  for (const event of events) {
    const next = step(program, state, event);
    expect(next.state).not.toBe(state);
    // A state that was stored and loaded again is the same state.
    state = JSON.parse(JSON.stringify(next.state));
    expect(state).toEqual(next.state);
    last = next.commands;
  }
  return { state, last, events };
}

const open = (program: Program, state: RunState) =>
  outstanding(program, state).map(({ activity: { item, attempt } }) => [item, attempt]);

describe("a prompt whose model calls workflows", () => {
  const program = asking();
  const called = follow(program, started({ variables: { OWN: "x" } }), succeeded(at(null), calling("one", "two")));

  it("waits, and each call becomes an item of its visit: a child run with the arguments and nothing else", () => {
    expect(called.last.map((command) => command.do)).toEqual(["await", "perform", "perform"]);
    expect(called.last[0]).toEqual({ do: "await", activity: at(null, 2) });
    expect(called.last[2]).toMatchObject({
      activity: at(1),
      work: {
        kind: "call",
        program: "look.wf.md",
        tool: { name: "look", callIndex: 0, requestHash: "h", position: 1 },
        start: { variables: { WHAT: "two" }, depth: 1, agent: "", threads: {} },
      },
    });
    expect(open(program, called.state)).toEqual([
      [0, 1],
      [1, 1],
    ]);
    expect(called.state.spent.steps).toBe(3);
  });

  it("continues when all calls have returned, in any order, and gets none of their variables", () => {
    const one = step(program, called.state, succeeded(at(1), returned({ steps: 4, variables: { OWN: "y" } })));
    expect(one.commands).toEqual([]);
    const both = step(program, one.state, succeeded(at(0), returned({ result: "late" })));
    expect(both.commands).toEqual([{ do: "retry", activity: at(null, 2), notBefore: null }]);
    expect(open(program, both.state)).toEqual([[null, 2]]);
    expect(both.state.spent.steps).toBe(7);
    expect(both.state.variables).toMatchObject({ OWN: "x", RESULT: "" });
    const end = step(program, both.state, succeeded(at(null, 2), replied));
    expect(end.state.phase).toMatchObject({ is: "ended", status: "success" });
  });

  it("ignores duplicate and late events", () => {
    expect(step(program, called.state, succeeded(at(null), calling("one", "two"))).state).toBe(called.state);
    expect(step(program, called.state, succeeded(at(null), replied)).state).toBe(called.state);
    const one = step(program, called.state, succeeded(at(0), returned())).state;
    expect(step(program, one, succeeded(at(0), returned())).state).toBe(one);
  });

  it("numbers its calls through all rounds", () => {
    const again = follow(
      program,
      ...called.events,
      ...[succeeded(at(0), returned()), succeeded(at(1), returned()), succeeded(at(null, 2), calling("three"))],
    );
    expect(again.last).toMatchObject([
      { do: "await", activity: at(null, 3) },
      { do: "perform", activity: at(2) },
    ]);
  });

  it("receives the failure of a callee that failed, was cancelled, or could not be called", () => {
    const reason = { code: "LIMIT_HITS", message: "too often" };
    for (const outcome of [returned({ status: "failed", reason }), returned({ status: "cancelled" })]) {
      const single = follow(program, started(), succeeded(at(null), calling("one")), succeeded(at(0), outcome));
      expect(single.last).toEqual([{ do: "retry", activity: at(null, 2), notBefore: null }]);
    }
    const { type: _, outcome: _outcome, ...base } = succeeded(at(0), replied);
    const failure = { code: "VALUE_TOO_LONG", message: "long" };
    const failed: Event = { type: "activity.failed", ...base, failure, next: "fail", retryAfterMs: null };
    const single = follow(program, started(), succeeded(at(null), calling("one")), failed);
    expect(single.last).toEqual([{ do: "retry", activity: at(null, 2), notBefore: null }]);
  });

  it("ends by a limit that a callee reached, through ON_FAILED, and the other calls become void", () => {
    const limit = returned({ status: "failed", reason: { code: "LIMIT_COST", message: "spent" } });
    const { state, last } = follow(program, ...called.events, succeeded(at(0), limit));
    expect(last.map((command) => command.do)).toEqual(["abort", "perform"]);
    expect(state).toMatchObject({ epoch: 2, phase: { is: "handling", reason: { code: "LIMIT_COST" } } });
    expect(Object.keys(state.active)).toEqual(["SET_R.1"]);
  });

  it.each([
    ["LIMIT_DEPTH", { depth: 0 }],
    ["LIMIT_STEPS", { steps: 2 }],
  ])("performs no call of a reply if its calls would exceed %s", (code, caps) => {
    const { state, last } = follow(program, started({ caps }), succeeded(at(null), calling("one", "two")));
    expect(last.map((command) => command.do)).toEqual(["abort", "perform"]);
    expect(state.phase).toMatchObject({ is: "handling", reason: { code } });
  });

  it("fails if the requested tool is not a workflow, because the worker made a mistake", () => {
    const invented: Outcome = {
      kind: "called",
      calls: [{ tool: "page", place: { callIndex: 0, requestHash: "h", position: 0 }, variables: {} }],
    };
    for (const outcome of [invented, { kind: "called", calls: [] } as const]) {
      const { state } = follow(program, started(), succeeded(at(null), outcome));
      expect(state.phase).toMatchObject({ is: "handling", reason: { code: "OUTCOME_INVALID" } });
    }
  });

  it("waits again after a stop and a resume, with new calls", () => {
    const { state, last } = follow(
      program,
      ...[...called.events, succeeded(at(0), returned())],
      ...[{ type: "run.stopped", at: 3_000, seed: 1 } as const, { type: "run.resumed", at: 4_000, seed: 1 } as const],
    );
    expect(last).toEqual([
      { do: "await", activity: at(null, 3) },
      { do: "retry", activity: at(1, 2), notBefore: null },
    ]);
    const end = step(program, state, succeeded(at(1, 2), returned(), 2));
    expect(end.commands).toEqual([{ do: "retry", activity: at(null, 3), notBefore: null }]);
  });

  it("in a superstep has its calls performed at once, and takes effect with the others", () => {
    const other = { kind: "prompt", text: { from: "literal", text: "b" } } as const;
    const both = programOf({ START: start, P: prompt, Q: other }, edgesOf("START P", "START Q"), {
      tools,
      scheduling: "superstep",
      entry: ["P", "Q"],
    });
    const asked: string[] = [];
    const played = play(both, (work, { node, item, attempt }) => {
      asked.push(`${node}${item ?? ""}.${attempt}`);
      if (work.kind === "call") return returned();
      return node === "P" && attempt === 1 ? calling("one") : replied;
    });
    expect(asked).toEqual(["P.1", "Q.1", "P0.1", "P.2"]);
    expect(played.state.phase).toMatchObject({ status: "success" });
  });
});

describe("a fork of a run whose model calls workflows", () => {
  const program = asking();
  const before = [started(), succeeded(at(null), calling("one", "two")), succeeded(at(0), returned())];

  it("begins a failed prompt again, without its calls", () => {
    const { type: _, outcome: _outcome, ...base } = succeeded(at(null, 2), replied);
    const failure = { code: "MODEL_REFUSED", message: "no" };
    const failed: Event = { type: "activity.failed", ...base, failure, next: "fail", retryAfterMs: null };
    const point = forkAtFailure(program, [...before, succeeded(at(1), returned()), failed]);
    expect(point).toMatchObject({ seq: 1, activity: at(null), keepsReplies: false });
    expect(Object.keys(point?.works ?? {})).toEqual(["P.1"]);
  });

  it("at a limit in a callee takes over the call, and the prompt waits for it", () => {
    const limit = returned({ status: "failed", reason: { code: "LIMIT_STEPS", message: "too many" } });
    const point = forkAtFailure(program, [...before, succeeded(at(1), limit)]);
    expect(point).toMatchObject({ seq: 2, activity: at(1), keepsReplies: true });
    if (point === null) return;
    expect(Object.keys(point.works)).toEqual(["P.1", "P.1[0]", "P.1[1]"]);
    const forked: Event = {
      type: "run.forked",
      at: 9,
      seed: 1,
      from: "r",
      seq: 2,
      caps: {},
      left: ["P.1[1]"],
    };
    const { state, commands } = step(program, point.state, forked);
    expect(commands).toEqual([
      { do: "await", activity: at(null, 3) },
      { do: "retry", activity: at(0, 2), notBefore: null },
    ]);
    expect(open(program, state)).toEqual([
      [0, 2],
      [1, 1],
    ]);
  });

  it("at the prompt's node begins the prompt again, unless it continues the called workflow", () => {
    expect(forkAtNode(program, before, "P")).toMatchObject({ seq: 1, activity: at(null) });
    expect(forkAtNode(program, before, "P", true)).toMatchObject({ seq: 2, activity: at(1) });
  });

  it("with another program begins the prompt once", () => {
    const point = forkAtNode(program, before, "P", true);
    if (point === null) throw new Error("no point");
    expect(carryOver(program, point, asking({ name: "other" }))).toMatchObject({ ok: true, begins: ["P"] });
  });
});
