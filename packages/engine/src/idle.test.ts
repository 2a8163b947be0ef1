import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "./event.ts";
import { forkAtFailure } from "./fork.ts";
import { merged, waited, waitsUntil } from "./idle.ts";
import type { Node, Program } from "./program.ts";
import { initialState, type RunState, type Span } from "./state.ts";
import { type Step, step } from "./step.ts";
import { edgesOf, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const prompt = { kind: "prompt", text: { from: "literal", text: "a" } } as const;
const handled: Partial<Program> = { handlers: { success: null, failed: "ON_FAILED" } };

/** A program with one node and a prompt after it. */
function withFirst(first: Node, more: Partial<Program> = {}): Program {
  return programOf(
    { START: start, FIRST: first, PROMPT_B: prompt, ON_FAILED: start, PROMPT_R: prompt },
    edgesOf("START FIRST", "FIRST PROMPT_B", "ON_FAILED PROMPT_R"),
    more,
  );
}

/** A run with a time limit of 60 s that began at 0. */
function begun(program: Program): RunState {
  return step(program, initialState, started({ at: 0, caps: { timeMs: 60_000 } })).state;
}

const stopped = (at: number, more: { idleMs?: number } = {}): Event => ({ type: "run.stopped", at, seed: 0, ...more });
const resumed = (at: number): Event => ({ type: "run.resumed", at, seed: 0 });

function limited({ epoch }: RunState, at: number): Event {
  return { type: "run.limited", at, seed: 0, epoch, code: "LIMIT_TIME", message: "over" };
}

function answered({ epoch, active }: RunState, at: number, kind: "replied" | "answered" = "replied"): Event {
  const activity = Object.values(active)[0]?.ref;
  if (activity === undefined) throw new Error("nothing is in flight");
  return { type: "activity.succeeded", at, seed: 0, epoch, activity, outcome: { kind, text: "x" }, usage: null };
}

function fold(program: Program, from: RunState, ...events: readonly Event[]) {
  return events.reduce<Step>((last, event) => step(program, last.state, event), { state: from, commands: [] });
}

describe("time between a stop and the resume", () => {
  const program = withFirst(prompt);

  it("removes the deadline, and sets it later by the length of the stop", () => {
    const stop = step(program, begun(program), stopped(20_000));
    expect(stop.commands).toContainEqual({ do: "deadline", at: null });
    const resume = step(program, stop.state, resumed(500_000));
    expect(resume.commands).toContainEqual({ do: "deadline", at: 540_000 });
    expect(resume.state.idle).toEqual({ ms: 480_000, since: null });
  });

  it("does not prevent the next activity from beginning", () => {
    const { state } = fold(program, begun(program), stopped(20_000), resumed(500_000));
    const after = step(program, state, answered(state, 530_000));
    expect(after.commands).toContainEqual(expect.objectContaining({ do: "perform" }));
    expect(after.state.phase).toEqual({ is: "doing" });
  });

  it("only the stopped time is excluded: working time still counts for the limit", () => {
    const { state } = fold(program, begun(program), stopped(20_000), resumed(500_000));
    const late = step(program, state, answered(state, 540_001));
    expect(late.state.phase).toMatchObject({ is: "ended", reason: { code: "LIMIT_TIME" } });
  });

  it("adds up over several stops", () => {
    const events = [stopped(10_000), resumed(110_000), stopped(120_000), resumed(320_000)];
    const { state, commands } = fold(program, begun(program), ...events);
    expect(state.idle.ms).toBe(300_000);
    expect(commands).toContainEqual({ do: "deadline", at: 360_000 });
  });

  it("does not count for a handler's time limit either", () => {
    const withHandler = withFirst(prompt, handled);
    const before = begun(withHandler);
    const { state } = step(withHandler, before, limited(before, 60_001));
    if (state.phase.is !== "handling" || state.phase.until === null) throw new Error("no handler");
    const until = state.phase.until + 900_000;
    const { state: after, commands } = fold(withHandler, state, stopped(70_000), resumed(970_000));
    expect(after.phase).toMatchObject({ is: "handling", until });
    expect(commands).toContainEqual({ do: "deadline", at: until });
  });

  it("does not count if the run waits for a person before, during and after the stop", () => {
    const asking = withFirst({ kind: "ask", question: "?" });
    const { state, commands } = fold(asking, begun(asking), stopped(20_000), resumed(500_000));
    expect(state.idle.since).toBe(500_000);
    expect(commands.filter((command) => command.do === "deadline" && command.at !== null)).toEqual([]);
    const after = step(asking, state, answered(state, 900_000, "answered"));
    expect(after.commands).toContainEqual({ do: "deadline", at: 960_000 });
  });

  it("does not count, and neither does the trouble that had interrupted the run before the stop", () => {
    const before = begun(program);
    const held = step(program, before, {
      type: "activity.failed",
      at: 20_000,
      seed: 0,
      epoch: 1,
      retryAfterMs: null,
      usage: null,
      next: "hold",
      activity: { node: "FIRST", generation: 1, item: null, attempt: 1 },
      failure: { code: "MODEL_KEY_MISSING", message: "no key" },
    } as Event);
    const { state, commands } = fold(program, held.state, stopped(100_000), resumed(500_000));
    expect(state.idle).toEqual({ ms: 480_000, since: null });
    expect(commands).toContainEqual({ do: "deadline", at: 540_000 });
  });

  it("is reported to the caller of the stopped run", () => {
    const { state } = fold(program, begun(program), stopped(20_000), resumed(500_000));
    const { state: second } = step(program, state, answered(state, 510_000));
    const { commands } = step(program, second, answered(second, 520_000));
    expect(commands).toContainEqual(expect.objectContaining({ do: "end", idleMs: 480_000 }));
  });

  it("is reported by a run that is cancelled while it is stopped", () => {
    const cancelled: Event = { type: "run.cancelled", at: 500_000, seed: 0, message: "enough" };
    const { state, commands } = fold(program, begun(program), stopped(20_000), cancelled);
    expect(commands).toContainEqual(expect.objectContaining({ do: "end", idleMs: 480_000 }));
    expect(state.idle.since).toBeNull();
  });

  it("does not count for a fork, whose time starts at its own beginning", () => {
    const forked: Event = { type: "run.forked", at: 900_000, seed: 0, from: "r", seq: 3, caps: {}, left: [] };
    const { state, commands } = fold(program, begun(program), stopped(20_000), resumed(500_000), forked);
    expect(state.idle).toEqual({ ms: 0, since: null });
    expect(commands).toContainEqual({ do: "deadline", at: 960_000 });
  });
});

describe("a stop of a run that waits for a called run", () => {
  const calling = withFirst({ kind: "call", program: "below" });

  it("excludes the time that the called run, which ends with the stop, had only waited", () => {
    const { state, commands } = fold(calling, begun(calling), stopped(55_000, { idleMs: 50_000 }), resumed(155_000));
    expect(state.idle).toEqual({ ms: 150_000, since: null });
    expect(commands).toContainEqual({ do: "deadline", at: 210_000 });
  });

  it("excludes that time also for a handler that made the call", () => {
    const program = programOf(
      { START: start, PROMPT_A: prompt, ON_FAILED: start, CALL_R: { kind: "call", program: "below" } },
      edgesOf("START PROMPT_A", "ON_FAILED CALL_R"),
      handled,
    );
    const before = begun(program);
    const { state } = step(program, before, limited(before, 60_001));
    const until = state.phase.is === "handling" ? (state.phase.until ?? 0) : 0;
    const { commands } = fold(program, state, stopped(70_000, { idleMs: 5_000 }), resumed(80_000));
    expect(commands).toContainEqual({ do: "deadline", at: until + 15_000 });
  });
});

describe("a fork of a run that was stopped and then cancelled", () => {
  it("continues the activities that were in flight at the stop", () => {
    const program = withFirst(prompt);
    const first = started({ at: 0, caps: { timeMs: 60_000 } });
    const state = step(program, initialState, first).state;
    const cancelled: Event = { type: "run.cancelled", at: 90_000, seed: 0, message: "enough" };
    const events = [first, answered(state, 10_000), stopped(20_000), cancelled];
    const point = forkAtFailure(program, events);
    expect(point).toMatchObject({ seq: 2, keepsReplies: true, state: { phase: { is: "doing" } } });
    expect(Object.keys(point?.works ?? {})).toEqual(["PROMPT_B.1"]);
  });
});

describe("time in which called runs only wait for a person", () => {
  const two = programOf(
    {
      START: start,
      CALL_A: { kind: "call", program: "below" },
      CALL_B: { kind: "call", program: "below" },
      ASK_C: { kind: "ask", question: "?" },
      PROMPT_D: prompt,
    },
    edgesOf("ASK_C PROMPT_D"),
    { entry: ["CALL_A", "CALL_B", "ASK_C"] },
  );
  const returned = ({ epoch, active }: RunState, node: string, at: number, waits: readonly Span[]): Event => {
    const activity = Object.values(active).find(({ ref }) => ref.node === node)?.ref;
    if (activity === undefined) throw new Error(`${node} is not in flight`);
    const idleMs = waits.reduce((sum, [from, to]) => sum + to - from, 0);
    const end = {
      status: "success",
      word: null,
      result: "",
      variables: {},
      reason: null,
      steps: 0,
      idleMs,
      waits,
    } as const;
    return {
      type: "activity.succeeded",
      at,
      seed: 0,
      epoch,
      activity,
      usage: null,
      outcome: { kind: "returned", ...end },
    };
  };

  it("counts once if several runs wait at the same time", () => {
    const first = step(two, begun(two), returned(begun(two), "CALL_A", 500_000, [[1_000, 499_000]]));
    expect(first.state.idle.ms).toBe(498_000);
    const both = step(two, first.state, returned(first.state, "CALL_B", 700_000, [[2_000, 699_000]]));
    expect(both.state.idle.ms).toBe(698_000);
    expect(both.state.idle.since).toBe(700_000);
  });

  it("does not count, even if the caller's own question is answered while a called run still waits", () => {
    const state = begun(two);
    const ask = Object.values(state.active).find(({ ref }) => ref.node === "ASK_C")?.ref;
    if (ask === undefined) throw new Error("no question");
    const about = { at: 900_000, seed: 0, epoch: state.epoch, activity: ask, usage: null };
    const after = step(two, state, {
      type: "activity.succeeded",
      ...about,
      outcome: { kind: "answered", text: "yes" },
    });
    expect(after.state.phase).toEqual({ is: "doing" });
    expect(Object.values(after.state.active).map(({ ref }) => ref.node)).toContain("PROMPT_D");
  });

  it("is excluded from the caller's time when the call returns, even if a superstep still holds its outcome", () => {
    const together: Program = { ...two, scheduling: "superstep" };
    const { state, commands } = step(
      together,
      begun(together),
      returned(begun(together), "CALL_A", 500_000, [[0, 500_000]]),
    );
    expect(state.held).toHaveLength(1);
    expect(state.idle.ms).toBe(500_000);
    expect(commands).toContainEqual({ do: "deadline", at: 560_000 });
  });

  it("prevents an older LIMIT_TIME event from ending the run", () => {
    const { state } = step(two, begun(two), returned(begun(two), "CALL_A", 500_000, [[0, 500_000]]));
    expect(step(two, state, limited(state, 510_000)).state).toBe(state);
    expect(step(two, state, limited(state, 560_001)).state.phase).toMatchObject({ is: "ended" });
  });

  it("is reported by the called run, with the periods in which it waited", () => {
    const asking = withFirst({ kind: "ask", question: "?" });
    const caller = { depth: 1, agent: "", threads: {} };
    const { state } = step(asking, initialState, started({ at: 0, caps: { timeMs: 60_000 }, caller }));
    const { state: second } = step(asking, state, answered(state, 300_000, "answered"));
    const { commands } = step(asking, second, answered(second, 310_000));
    expect(commands).toContainEqual(expect.objectContaining({ do: "end", idleMs: 300_000, waits: [[0, 300_000]] }));
  });

  it("no moment counts twice, for any intervals in any order", () => {
    const span = fc.tuple(fc.nat(1_000), fc.nat(200)).map(([from, length]): Span => [from, from + length]);
    fc.assert(
      fc.property(fc.array(fc.array(span, { maxLength: 5 }), { maxLength: 8 }), (told) => {
        const state = told.reduce<RunState>((last, spans) => waited(last, merged(spans)), initialState);
        const moments = new Set(
          told.flat().flatMap(([from, to]) => Array.from({ length: to - from }, (_, ms) => from + ms)),
        );
        expect(state.idle.ms).toBe(moments.size);
      }),
      { seed: 20 },
    );
  });
});

describe("a deadline while an activity is parked", () => {
  const beside = programOf({ START: start, PROMPT_A: prompt, PROMPT_B: prompt }, [], {
    entry: ["PROMPT_A", "PROMPT_B"],
  });
  const parked = ({ epoch }: RunState, node: string): Event => ({
    type: "activity.failed",
    at: 10_000,
    seed: 0,
    epoch,
    retryAfterMs: null,
    usage: null,
    next: "park",
    activity: { node, generation: 1, item: null, attempt: 1 },
    failure: { code: "MODEL_UNREACHABLE", message: "away" },
  });

  it("ends the run if other work is active", () => {
    const { state } = step(beside, begun(beside), parked(begun(beside), "PROMPT_A"));
    const after = step(beside, state, limited(state, 60_001));
    expect(after.state.phase).toMatchObject({ is: "ended", reason: { code: "LIMIT_TIME" } });
  });

  it("fails nothing if all activities in flight wait for the other side", () => {
    const { state } = fold(beside, begun(beside), parked(begun(beside), "PROMPT_A"), parked(begun(beside), "PROMPT_B"));
    const after = step(beside, state, limited(state, 60_001));
    expect(after.state.phase).toEqual({ is: "doing" });
    expect(Object.values(after.state.active).every(({ parked: one }) => one?.held === true)).toBe(true);
  });
});

it("a run with more waiting periods than it stores still reports its total waiting time to its callers", () => {
  const waits = Array.from({ length: 250 }, (_, n): Span => [n * 10_000, n * 10_000 + 1_000]);
  const one = waits.reduce((state, span) => waited(state, [span]), { ...initialState, depth: 1 });
  const told = waitsUntil(one, 2_600_000);
  expect(told.length).toBeLessThanOrEqual(100);
  expect(told.reduce((ms, [from, to]) => ms + to - from, 0)).toBe(250_000);
  expect(one.idle.ms).toBe(250_000);
  expect(merged(told)).toEqual(told);
});

describe("time in which a run is queued", () => {
  const program = withFirst(prompt);
  const queued = step(program, initialState, started({ at: 0, caps: { timeMs: 60_000 }, queued: true }));
  const admitted = (at: number): Event => ({ type: "run.admitted", at, seed: 0 });

  it("counts for no limit: the deadline is set once, when the run is admitted", () => {
    expect(queued.commands.findLast((command) => command.do === "deadline")).toEqual({ do: "deadline", at: null });
    const after = step(program, queued.state, admitted(500_000));
    expect(after.commands).toEqual([{ do: "deadline", at: 560_000 }]);
    expect(after.state.idle).toEqual({ ms: 500_000, since: null });
    expect(step(program, after.state, admitted(600_000)).state).toBe(after.state);
  });

  it("ends with any event of the run", () => {
    const after = step(program, queued.state, answered(queued.state, 500_000));
    expect(after.state.idle).toEqual({ ms: 500_000, since: null });
    const resume = fold(program, queued.state, stopped(20_000), resumed(500_000));
    expect(resume.state.idle).toEqual({ ms: 500_000, since: null });
    const cancelled = step(program, queued.state, { type: "run.cancelled", at: 9, seed: 0, message: "no" });
    expect(cancelled.state.idle.queued).toBeUndefined();
  });
});
