import { activityKey, type Event, initialState, type Program, type RunState, step } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { fullState, type KeptState, sparseState, stateForm } from "./run-state.ts";

/**
 * A program with two parallel assignments and a prompt in a handler. It covers lists, tokens, retries, spending and
 * both kinds of end.
 */
const program: Program = {
  form: 1,
  dialect: "codementor",
  name: "kept",
  description: "",
  params: [],
  prompts: {},
  nodes: {
    left: { kind: "assign", value: { from: "literal", text: "l" } },
    right: { kind: "prompt", text: { from: "literal", text: "r?" }, agent: "right" },
    both: { kind: "join", groups: { "": { mode: "all" } } },
    end: { kind: "end", outcome: "success" },
    sorry: { kind: "prompt", text: { from: "literal", text: "Sorry." } },
  },
  edges: [
    { from: "left", to: "both", on: "ok" },
    { from: "right", to: "both", on: "ok" },
    { from: "both", to: "end", on: "ok" },
  ],
  entry: ["left", "right"],
  handlers: { success: null, failed: "sorry" },
  agents: {},
  settings: {},
  sandbox: {},
  limits: initialState.limits,
  scheduling: "eager",
  lists: { names: ["Ada", ""], none: [] },
  result: { take: "RESULT" },
  files: {},
};

const usage = { calls: 1, promptTokens: 3, completionTokens: 2, characters: 9, nanodollars: 7 };
const started: Event = {
  type: "run.started",
  at: 1_000,
  seed: 1,
  run: 'r "1"',
  variables: { ESSAY: "a\u001eb" },
  environment: { LANG: "de" },
  caps: { steps: 50, timeMs: 9_000 },
  caller: null,
};

type Answer = (state: RunState, node: string, at: number) => Event;
const answered: Answer = (state, node, at) => ({
  type: "activity.succeeded",
  at,
  seed: 1,
  epoch: state.epoch,
  activity: refOf(state, node),
  usage,
  outcome: node === "left" ? { kind: "done" } : { kind: "replied", text: `${node}!`, notes: ["cut"] },
});
const troubled: Answer = (state, node, at) => ({
  type: "activity.failed",
  at,
  seed: 1,
  epoch: state.epoch,
  activity: refOf(state, node),
  usage,
  failure: { code: "MODEL_BUSY", message: "429" },
  next: "retry",
  retryAfterMs: 5,
});
const stopped: Answer = (_, __, at) => ({ type: "run.stopped", at, seed: 1 });
const resumed: Answer = (_, __, at) => ({ type: "run.resumed", at, seed: 1 });
const limited: Answer = ({ epoch }, _, at) => ({
  type: "run.limited",
  at,
  seed: 1,
  epoch,
  code: "LIMIT_TIME",
  message: "late",
});
const cancelled: Answer = (_, __, at) => ({ type: "run.cancelled", at, seed: 1, message: "enough" });

function refOf(state: RunState, node: string) {
  const active = Object.values(state.active).find(({ ref }) => ref.node === node);
  if (active === undefined) throw new Error(`${node} is not asked`);
  expect(state.active[activityKey(active.ref)]).toBe(active);
  return active.ref;
}

const histories: Readonly<Record<string, readonly (readonly [Answer, string])[]>> = {
  "to the end": [
    [answered, "left"],
    [answered, "right"],
  ],
  "with a retry": [
    [troubled, "right"],
    [answered, "left"],
    [answered, "right"],
  ],
  "stopped and resumed": [
    [stopped, ""],
    [resumed, ""],
    [answered, "left"],
    [stopped, ""],
    [resumed, ""],
  ],
  "through a handler": [
    [limited, ""],
    [stopped, ""],
    [resumed, ""],
    [answered, "sorry"],
  ],
  "to a cancellation": [
    [answered, "left"],
    [cancelled, ""],
  ],
};

/** Stores the state as a run's row does. Each variable that is not in the state gets a row. */
function throughTheRow(state: RunState): RunState {
  const kept = JSON.parse(JSON.stringify(sparseState(state)));
  const rows = Object.entries(state.variables).filter(([name]) => !Object.hasOwn(kept.variables ?? {}, name));
  return fullState(kept, Object.fromEntries(rows));
}

describe("the form number of a kept state", () => {
  it("the form is the first field of the JSON, where SQL finds it", () => {
    const state: RunState = { ...initialState, hits: { form: 9 } };
    expect(JSON.stringify(sparseState(state))).toMatch(new RegExp(`^\\{"form":${stateForm}[,}]`));
  });

  it("a state of the first form, which has no form number, still loads with the usual values for new fields", () => {
    const { form: _, ...first } = sparseState({ ...initialState, epoch: 7 });
    expect(fullState(first, { LONG: "x" })).toEqual({
      ...initialState,
      epoch: 7,
      variables: { ...initialState.variables, LONG: "x" },
    });
  });

  it("a state of form 1 uses its current result as the result before the handler began", () => {
    const handling = { is: "handling", of: "failed", reason: null, from: initialState.spent, until: null } as const;
    const first = { handler: true, phase: handling } as unknown as KeptState;
    const loaded = fullState(first, { RESULT: "so far", ERROR: "X: x", STATUS: "FAILED" });
    expect(loaded).not.toHaveProperty("handler");
    expect(loaded.phase).toEqual({
      ...handling,
      ended: { result: "so far", word: null, RESULT: "so far", ERROR: "X: x" },
    });
  });

  it("a state of a newer form is refused", () => {
    expect(() => fullState({ form: stateForm + 1 }, {})).toThrow(
      expect.objectContaining({ code: "STORE_STATE_NEWER" }),
    );
  });
});

describe("a kept state", () => {
  it("a state without events equals the initial state and stores only its variables", () => {
    expect(sparseState(initialState)).toEqual({ form: stateForm, variables: initialState.variables });
    expect(throughTheRow(initialState)).toEqual(initialState);
  });

  it.each(Object.entries(histories))("the state after every event of a run reads back unchanged: %s", (_, answers) => {
    let state = step(program, initialState, started).state;
    let kept = throughTheRow(state);
    expect(kept).toStrictEqual(state);
    for (const [index, [answer, node]] of answers.entries()) {
      const event = answer(state, node, 2_000 + index);
      const next = step(program, state, event);
      expect(next.state).not.toBe(state);
      // The next event has the same result on both states.
      expect(step(program, kept, event)).toEqual(next);
      state = next.state;
      kept = throughTheRow(state);
      expect(kept).toStrictEqual(state);
      expect("variables" in sparseState(state)).toBe(state.phase.is !== "ended");
    }
  });

  it("the state of an ended run never waits, even if it was kept as waiting", () => {
    const phase = { is: "ended", status: "success", reason: null } as const;
    const kept = { ...sparseState({ ...initialState, phase }), idle: { ms: 500, since: 1_500 } };
    expect(fullState(kept, {}).idle).toEqual({ ms: 500, since: null });
    expect(fullState({ ...kept, phase: { is: "doing" } }, {}).idle).toEqual({ ms: 500, since: 1_500 });
  });

  it("a field that returned to its initial value, and a list that became empty, are kept", () => {
    const state: RunState = {
      ...initialState,
      epoch: 2,
      depth: 0,
      handled: { success: false, failed: false },
      limits: { ...initialState.limits },
      lists: { names: [] },
      hits: {},
      held: [],
    };
    expect(throughTheRow(state)).toStrictEqual(state);
    expect(sparseState(state)).not.toHaveProperty("hits");
    expect(sparseState(state)).toHaveProperty("lists", { names: [] });
  });
});
