import { describe, expect, it } from "vitest";
import type { ActivityRef } from "./activity.ts";
import type { Command } from "./command.ts";
import type { ActivityFailed, Event, RunStarted } from "./event.ts";
import { initialState, type RunState } from "./state.ts";
import { outstanding, step } from "./step.ts";
import { edgesOf, programOf, started } from "./testing-programs.ts";

const minute = 60_000;
const nodes = {
  START: { kind: "start" },
  PROMPT_A: { kind: "prompt", text: { from: "literal", text: "a" } },
  SUCCESS: { kind: "end", outcome: "success" },
  FAILED: { kind: "end", outcome: "failed" },
} as const;
const edges = edgesOf("START PROMPT_A", "PROMPT_A SUCCESS", "PROMPT_A -fail- FAILED");
const program = programOf(nodes, edges);
const trouble = { model: "small", endpoint: "http://127.0.0.1:1", reason: "429" };

function begun(of = program, more: Partial<RunStarted> = {}): RunState {
  return step(of, initialState, started({ at: 0, ...more })).state;
}

function only(state: RunState): ActivityRef {
  const ref = Object.values(state.active)[0]?.ref;
  if (ref === undefined) throw new Error("nothing is in flight");
  return ref;
}

function troubled(state: RunState, at: number, more: Partial<ActivityFailed> = {}): ActivityFailed {
  return {
    type: "activity.failed",
    at,
    seed: 0,
    epoch: state.epoch,
    activity: only(state),
    failure: { code: "MODEL_RATE_LIMITED", message: "too many" },
    next: "park",
    retryAfterMs: null,
    usage: null,
    trouble,
    ...more,
  };
}

function replied(state: RunState, at: number): Event {
  const outcome = { kind: "replied", text: "fine" } as const;
  return { type: "activity.succeeded", at, seed: 0, epoch: state.epoch, activity: only(state), outcome, usage: null };
}

/** Fails each attempt when it is due, until the activity is held. */
function failUntilHeld(of: typeof program, from: RunState): { state: RunState; at: number; waits: number[] } {
  let state = from;
  let at = 0;
  const waits: number[] = [];
  for (let tries = 0; tries < 100; tries++) {
    const next = step(of, state, troubled(state, at));
    state = next.state;
    const again = next.commands.find((command: Command) => command.do === "retry");
    if (again?.do !== "retry") return { state, at, waits };
    waits.push((again.notBefore ?? 0) - at);
    at = again.notBefore ?? at;
  }
  throw new Error("it was never held");
}

describe("trouble of the other side", () => {
  it("is over when the endpoint answers, even with an empty reply", () => {
    const before = begun();
    const parked = step(program, before, troubled(before, 10)).state;
    const empty = { next: "retry", failure: { code: "MODEL_EMPTY_REPLY", message: "nothing" } } as const;
    const { state, commands } = step(program, parked, troubled(parked, 2_000, empty));
    expect(Object.values(state.active)[0]).not.toHaveProperty("parked");
    expect(commands[0]).toMatchObject({ do: "retry" });
    expect(commands[0]).not.toHaveProperty("parked");
  });

  it("parks the activity: the same work is repeated later, without an edge, a step or a counted failure", () => {
    const before = begun();
    const { state, commands } = step(program, before, troubled(before, 10));
    expect(commands).toEqual([
      {
        do: "retry",
        activity: { ...only(before), attempt: 2 },
        notBefore: 1_010,
        parked: {
          since: 10,
          tries: 1,
          failure: { code: "MODEL_RATE_LIMITED", message: "too many" },
          trouble,
          held: false,
        },
      },
    ]);
    expect(state.phase).toEqual({ is: "doing" });
    expect(state.spent.steps).toBe(before.spent.steps);
    expect(step(program, state, replied(state, 2_000)).state.phase).toMatchObject({ status: "success" });
  });

  it("makes each wait longer, up to five minutes, with a last attempt when the patience ends", () => {
    const { at, waits, state } = failUntilHeld(program, begun());
    expect(waits.slice(0, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(Math.max(...waits)).toBe(5 * minute);
    expect(at).toBe(30 * minute);
    expect(Object.values(state.active)[0]?.parked).toMatchObject({ held: true, since: 0 });
  });

  it("never waits longer than five minutes, even if the endpoint requests it", () => {
    const before = begun();
    const { commands } = step(program, before, troubled(before, 0, { retryAfterMs: 86_400_000 }));
    expect(commands[0]).toMatchObject({ do: "retry", notBefore: 5 * minute });
  });

  it("interrupts the run when the patience is over: nothing fails, and a resume continues at that step", () => {
    const { state: held, at } = failUntilHeld(program, begun(program, { patienceMs: 10_000 }));
    expect(at).toBe(10_000);
    expect(held.phase).toEqual({ is: "doing" });
    expect(outstanding(program, held)).toEqual([]);
    const resumed = step(program, held, { type: "run.resumed", at: 99_000, seed: 0 });
    expect(resumed.commands).toEqual([{ do: "retry", activity: only(resumed.state), notBefore: null }]);
    const parkedAgain = step(program, resumed.state, troubled(resumed.state, 99_500));
    expect(Object.values(parkedAgain.state.active)[0]?.parked).toMatchObject({ since: 99_500, tries: 1 });
    expect(step(program, resumed.state, replied(resumed.state, 99_600)).state.phase).toMatchObject({
      status: "success",
    });
  });

  it("beyond the time limit interrupts the run, and the waiting time does not count", () => {
    const before = begun(program, { caps: { timeMs: 60_000 } });
    const parked = step(program, before, troubled(before, 50_000)).state;
    const limited = step(program, parked, {
      type: "run.limited",
      at: 60_001,
      seed: 0,
      epoch: parked.epoch,
      code: "LIMIT_TIME",
      message: "over",
    });
    expect(limited.state.phase).toEqual({ is: "doing" });
    expect(limited.commands.map((command) => command.do)).toEqual(["hold", "deadline"]);
    expect(limited.commands[1]).toEqual({ do: "deadline", at: null });
    const resumed = step(program, limited.state, { type: "run.resumed", at: 500_000, seed: 0 });
    // Ten of the sixty seconds were left when the trouble began.
    expect(resumed.commands).toContainEqual({ do: "deadline", at: 510_000 });
  });

  it("fails the activity after the usual attempts, if the workflow is configured to take an edge", () => {
    const edged = programOf(nodes, edges, { trouble: "edge" });
    let state = begun(edged);
    for (let tries = 1; tries < 4; tries++) {
      state = step(edged, state, troubled(state, tries)).state;
      expect(state.phase).toEqual({ is: "doing" });
    }
    expect(step(edged, state, troubled(state, 9)).state.phase).toMatchObject({ status: "failed" });
  });

  it("interrupts the run at once if waiting cannot help", () => {
    const before = begun();
    const { state, commands } = step(program, before, troubled(before, 1, { next: "hold" }));
    expect(commands.map((command) => command.do)).toEqual(["hold"]);
    expect(state.phase).toEqual({ is: "doing" });
    const resumed = step(program, state, { type: "run.resumed", at: 9, seed: 0 }).state;
    expect(step(program, resumed, replied(resumed, 10)).state.phase).toMatchObject({ status: "success" });
  });

  it("a late answer of an older attempt does not change a held activity", () => {
    const before = begun(program, { patienceMs: 0 });
    const late = replied(before, 5);
    const held = step(program, before, troubled(before, 1)).state;
    expect(step(program, held, late).state).toBe(held);
  });
});

describe("a time limit", () => {
  const asking = programOf(
    {
      START: { kind: "start" },
      ASK_A: { kind: "ask", question: "well?" },
      PROMPT_A: nodes.PROMPT_A,
    },
    edgesOf("START ASK_A", "ASK_A PROMPT_A"),
  );

  it("does not count time in which the run only waits for a person", () => {
    const first = step(asking, initialState, started({ at: 1_000, caps: { timeMs: 10_000 } }));
    expect(first.commands.filter((command) => command.do === "deadline").at(-1)).toEqual({ do: "deadline", at: null });
    const answered = step(asking, first.state, {
      type: "activity.succeeded",
      at: 1_000_000,
      seed: 0,
      epoch: first.state.epoch,
      activity: only(first.state),
      outcome: { kind: "answered", text: "yes" },
      usage: null,
    });
    expect(answered.state.phase).toEqual({ is: "doing" });
    expect(answered.commands.filter((command) => command.do === "deadline").at(-1)).toEqual({
      do: "deadline",
      at: 1_010_000,
    });
  });

  it("excludes the waiting up to the end of the run, which then no longer waits", () => {
    const alone = programOf(asking.nodes, edgesOf("START ASK_A"));
    const waiting = begun(alone);
    const base = { at: 500, seed: 0, epoch: waiting.epoch };
    const ends: readonly Event[] = [
      {
        type: "activity.succeeded",
        ...base,
        activity: only(waiting),
        outcome: { kind: "answered", text: "yes" },
        usage: null,
      },
      { type: "ask.expired", ...base, activity: only(waiting) },
      { type: "run.limited", ...base, code: "LIMIT_COST", message: "spent" },
      { type: "run.cancelled", ...base, message: "stop it" },
      { type: "run.broken", ...base, message: "a defect" },
    ];
    expect(waiting.idle).toEqual({ ms: 0, since: 0 });
    for (const event of ends) {
      const { state, commands } = step(alone, waiting, event);
      expect(state.phase.is).toBe("ended");
      expect(state.idle).toEqual({ ms: 500, since: null });
      expect(commands).toContainEqual(expect.objectContaining({ do: "end", idleMs: 500 }));
    }
  });
});

describe("a fork of a run", () => {
  it("requests the work in flight again, with nothing spent, its own time and its own caps", () => {
    const before = begun(program, { caps: { nanodollars: 5, timeMs: 1_000 } });
    const spent = { calls: 2, promptTokens: 3, completionTokens: 4, characters: 5, nanodollars: 6 };
    const failedOnce = step(program, before, troubled(before, 10, { usage: spent })).state;
    const forked = step(program, failedOnce, {
      type: "run.forked",
      at: 90_000,
      seed: 0,
      from: "old",
      seq: 2,
      caps: { nanodollars: 50 },
      left: [],
    });
    expect(forked.state).toMatchObject({
      startedAt: 90_000,
      limits: { nanodollars: 50, timeMs: 1_000 },
      spent: { calls: 0, nanodollars: 0, steps: before.spent.steps },
    });
    expect(forked.commands).toEqual([
      { do: "deadline", at: 91_000 },
      { do: "retry", activity: only(forked.state), notBefore: null },
    ]);
    expect(only(forked.state).attempt).toBe(3);
  });
});
