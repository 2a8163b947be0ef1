import { describe, expect, it } from "vitest";
import type { Work } from "./activity.ts";
import type { Node } from "./program.ts";
import { initialState } from "./state.ts";
import { followStep, step } from "./step.ts";
import { type Answer, edgesOf, play, programOf, started } from "./testing-programs.ts";

const start: Node = { kind: "start" };
const success: Node = { kind: "end", outcome: "success" };
const failed: Node = { kind: "end", outcome: "failed" };
const prompt = (text: string): Node => ({ kind: "prompt", text: { from: "template", text } });
const equals = (right: string): Node => ({
  kind: "check",
  condition: { op: "equals", left: { from: "name", name: "RESULT" }, right: { from: "literal", text: right } },
});
const execute: Node = { kind: "execute", command: null, nonZero: "ok", repeat: "never" };

/** Gives the replies in order and then repeats the last one. All other work is simply done. */
function replies(...texts: string[]): (work: Work) => Answer {
  let next = 0;
  return (work) => {
    if (work.kind === "prompt") return { kind: "replied", text: texts[Math.min(next++, texts.length - 1)] ?? "" };
    if (work.kind === "execute") return { kind: "executed", text: `$ ${work.text}\nok\n`, exitCode: 0, commands: 1 };
    return { kind: "done" };
  };
}

const loop = programOf(
  {
    START: start,
    PROMPT_TRY: prompt("Try {{TASK}}"),
    EXECUTE_IT: execute,
    CHECK_IT: equals("DONE"),
    SUCCESS: success,
  },
  edgesOf(
    "START PROMPT_TRY",
    "PROMPT_TRY CHECK_IT",
    "CHECK_IT SUCCESS",
    "CHECK_IT -fail- EXECUTE_IT",
    "EXECUTE_IT PROMPT_TRY",
  ),
);

describe("a run", () => {
  it("walks prompt, check and loop until the check holds", () => {
    const played = play(loop, replies("again", "DONE"), started({ variables: { TASK: "tides" } }));
    expect(played.state.phase).toEqual({ is: "ended", status: "success", reason: null });
    expect(played.asked).toEqual([
      "PROMPT_TRY.1.1",
      "CHECK_IT.1.1",
      "EXECUTE_IT.1.1",
      "PROMPT_TRY.2.1",
      "CHECK_IT.2.1",
    ]);
    expect(played.state.variables).toMatchObject({ RESULT: "DONE", STATUS: "SUCCESS" });
    expect(played.commands.find((command) => command.do === "perform")).toMatchObject({ work: { text: "Try tides" } });
  });

  it("runs a node at most as often as the hit limit allows, then fails with LIMIT_HITS and keeps the evidence", () => {
    const played = play(loop, replies("never"));
    expect(played.state.phase).toMatchObject({ is: "ended", status: "failed", reason: { code: "LIMIT_HITS" } });
    expect(played.asked.filter((name) => name.startsWith("PROMPT_TRY"))).toHaveLength(3);
    expect(played.state.variables.RESULT).toContain("$ never");
    expect(played.state.variables.ERROR).toMatch(/^LIMIT_HITS: 'PROMPT_TRY'/);
  });

  it("ends SUCCESS if a node has no successor, and FAILED if a check is false without an edge", () => {
    const implicit = programOf({ START: start, CHECK_A: equals("x") }, edgesOf("START CHECK_A"));
    expect(play(implicit, replies(""), started({ variables: { RESULT: "x" } })).state.phase).toMatchObject({
      status: "success",
    });
    const wrong = play(implicit, replies(""), started({ variables: { RESULT: "y" } })).state;
    expect(wrong.phase).toMatchObject({ status: "failed", reason: { code: "CHECK_FALSE" } });
    expect(wrong.variables.RESULT).toBe("y");
  });

  it("returns the same state object for events that are duplicate, late or after the end", () => {
    const first = step(loop, initialState, started());
    const event = {
      type: "activity.succeeded",
      at: 2,
      seed: 0,
      epoch: 1,
      activity: { node: "PROMPT_TRY", generation: 1, item: null, attempt: 1 },
      outcome: { kind: "replied", text: "DONE" },
      usage: null,
    } as const;
    const second = step(loop, first.state, event);
    expect(second.state).not.toBe(first.state);
    expect(step(loop, second.state, event)).toEqual({ state: second.state, commands: [] });
    expect(step(loop, second.state, event).state).toBe(second.state);
    expect(step(loop, first.state, { ...event, epoch: 2 }).state).toBe(first.state);
    const done = play(loop, replies("DONE")).state;
    for (const late of [event, started(), { type: "run.cancelled", at: 9, seed: 0, message: "" } as const]) {
      expect(step(loop, done, late).state).toBe(done);
    }
  });
});

describe("handlers", () => {
  const withHandlers = programOf(
    {
      START: start,
      CHECK_A: equals("good"),
      FAILED: failed,
      SUCCESS: success,
      ON_FAILED: start,
      PROMPT_REPORT: prompt("Report {{STATUS}}"),
      ON_SUCCESS: start,
      PROMPT_CHEER: prompt("Cheer {{STATUS}}"),
    },
    edgesOf(
      "START CHECK_A",
      "CHECK_A SUCCESS",
      "CHECK_A -fail- FAILED",
      "ON_FAILED PROMPT_REPORT",
      "ON_SUCCESS PROMPT_CHEER",
    ),
    { handlers: { success: "ON_SUCCESS", failed: "ON_FAILED" } },
  );

  it("runs ON_FAILED once after FAILED, with STATUS already FAILED, and keeps RESULT", () => {
    const played = play(withHandlers, replies("the report"), started({ variables: { RESULT: "bad" } }));
    expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "FAILED_REACHED" } });
    expect(played.commands.at(-1)).toMatchObject({ do: "end", status: "failed", result: "bad" });
    expect(played.state.variables).toMatchObject({ RESULT: "bad", REPORT: "the report" });
    expect(played.commands).toContainEqual(
      expect.objectContaining({ do: "perform", work: expect.objectContaining({ text: "Report FAILED" }) }),
    );
  });

  it("runs ON_SUCCESS on success, and a failure in it does not undo the success", () => {
    const played = play(withHandlers, replies("hurray"), started({ variables: { RESULT: "good" } }));
    expect(played.commands.at(-1)).toMatchObject({ do: "end", status: "success", result: "good" });
    expect(played.state.variables).toMatchObject({ RESULT: "good", REPORT: "hurray", STATUS: "SUCCESS" });
    const troubled = play(
      withHandlers,
      (work) =>
        work.kind === "prompt" ? { failure: { code: "MODEL_REFUSED", message: "no" }, next: "fail" } : { kind: "done" },
      started({ variables: { RESULT: "good" } }),
    );
    expect(troubled.state.phase).toMatchObject({ status: "success" });
    expect(troubled.commands.at(-1)).toMatchObject({ do: "end", status: "success", result: "good" });
    expect(troubled.state.variables).toMatchObject({ RESULT: "good" });
    expect(troubled.state.variables).not.toHaveProperty("ERROR");
    expect(troubled.commands).toContainEqual(expect.objectContaining({ do: "warn", code: "HANDLER_FAILED" }));
  });

  it("a SUCCESS in the failed handler does not make the run a success, and a FAILED in the success handler does not make it a failure", () => {
    const recovering = programOf(
      { ...withHandlers.nodes },
      [...withHandlers.edges, ...edgesOf("PROMPT_REPORT SUCCESS")],
      { handlers: { success: null, failed: "ON_FAILED" } },
    );
    const played = play(recovering, replies("saved"), started({ variables: { RESULT: "bad" } }));
    expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "FAILED_REACHED" } });
    const undoing = programOf({ ...withHandlers.nodes }, [...withHandlers.edges, ...edgesOf("PROMPT_CHEER FAILED")], {
      handlers: { success: "ON_SUCCESS", failed: "ON_FAILED" },
    });
    const cheered = play(undoing, replies("no"), started({ variables: { RESULT: "good" } }));
    expect(cheered.state.phase).toMatchObject({ status: "success", reason: null });
    expect(cheered.commands.at(-1)).toMatchObject({ status: "success", result: "good", word: null });
  });

  it("runs ON_FAILED for an implicit failure, an error and a limit alike", () => {
    const nodes = { START: start, PROMPT_A: prompt("a"), ON_FAILED: start, SET_B: setTo("SEEN", "yes") };
    const program = programOf(nodes, edgesOf("START PROMPT_A", "PROMPT_A PROMPT_A", "ON_FAILED SET_B"), {
      handlers: { success: null, failed: "ON_FAILED" },
    });
    expect(play(program, replies("x")).state.variables).toMatchObject({ SEEN: "yes", STATUS: "FAILED" });
    const error = play(program, (work) =>
      work.kind === "prompt" ? { failure: { code: "MODEL_REFUSED", message: "no" }, next: "fail" } : { kind: "done" },
    );
    expect(error.state.variables).toMatchObject({ SEEN: "yes", ERROR: "MODEL_REFUSED: no" });
  });
});

function setTo(name: string, text: string): Node {
  return { kind: "set", target: { to: "variable", name }, value: { from: "template", text } };
}

describe("retries", () => {
  it("repeat a retryable failure without counting a step, and then the fail edge is taken", () => {
    const program = programOf(
      { START: start, PROMPT_A: prompt("a"), SET_B: setTo("B", "1") },
      edgesOf("START PROMPT_A", "PROMPT_A -fail- SET_B"),
    );
    const played = play(program, (work) =>
      work.kind === "prompt"
        ? { failure: { code: "MODEL_RATE_LIMITED", message: "slow" }, next: "retry" }
        : { kind: "done" },
    );
    expect(played.asked).toEqual(["PROMPT_A.1.1", "PROMPT_A.1.2", "PROMPT_A.1.3", "PROMPT_A.1.4", "SET_B.1.1"]);
    expect(played.state.spent.steps).toBe(2);
    expect(played.state.variables.ERROR).toBe("MODEL_RATE_LIMITED: slow (4 attempts)");
  });

  it("repeat commands with an unknown outcome only if the node states that this is safe", () => {
    const program = (repeat: "safe" | "never") =>
      programOf({ START: start, EXECUTE_A: { ...execute, repeat } as Node }, edgesOf("START EXECUTE_A"));
    const unknown = { failure: { code: "WORKER_LOST", message: "lost" }, next: "unknown" } as const;
    expect(play(program("never"), () => unknown).state.phase).toMatchObject({ reason: { code: "OUTCOME_UNKNOWN" } });
    // An edge may lead to a grade, and this failure says nothing about the submission.
    const edged = { ...program("never"), edges: [...program("never").edges, ...edgesOf("EXECUTE_A -fail- SUCCESS")] };
    expect(play(edged, () => unknown).state.phase).toMatchObject({ status: "failed" });
    expect(play(program("safe"), () => unknown).asked).toHaveLength(4);
  });

  it("a superstep lets its other activities finish before a failure of ours ends the run, but not before a limit does", () => {
    const nodes = { PROMPT_A: prompt("A"), PROMPT_B: prompt("B"), EXECUTE_C: execute };
    const program = programOf(nodes, [], { scheduling: "superstep", entry: ["EXECUTE_C", "PROMPT_A", "PROMPT_B"] });
    const ending = (code: string) =>
      play(program, (work) =>
        work.kind === "execute"
          ? { failure: { code, message: code }, next: "fail" }
          : { kind: "replied", text: "a reply" },
      );
    for (const code of ["OUTCOME_UNKNOWN", "WORKER_CRASHED", "STORE_AWAY"]) {
      const { state, events } = ending(code);
      expect(state).toMatchObject({ phase: { status: "failed", reason: { code } }, epoch: 1 });
      expect(events).toHaveLength(4);
    }
    const { state, events } = ending("LIMIT_COST");
    expect(state).toMatchObject({ phase: { status: "failed", reason: { code: "LIMIT_COST" } }, epoch: 2 });
    expect(events).toHaveLength(2);
  });
});

describe("calls", () => {
  const caller = programOf(
    { START: start, CALL_SUB: { kind: "call", program: "sub.md" }, SUCCESS: success },
    edgesOf("START CALL_SUB", "CALL_SUB SUCCESS"),
    { params: [{ name: "MAX_ACTIVITY_HITS", default: "7" }] },
  );

  it("give the callee variables, the conversation and the remaining limits, but not the caller's own limits", () => {
    const { commands } = step(
      caller,
      initialState,
      started({ variables: { A: "1", AI_MODEL_NAME: "m" }, caps: { tokens: 100 } }),
    );
    const call = commands.find((command) => command.do === "perform");
    expect(call).toMatchObject({
      work: {
        kind: "call",
        program: "sub.md",
        start: { depth: 1, caps: { tokens: 100 }, threads: { "": "r/main/1" } },
      },
    });
    const { variables } = (call as { work: { start: { variables: object } } }).work.start;
    expect(variables).toMatchObject({ A: "1", AI_MODEL_NAME: "m", RESULT: "" });
    expect(variables).not.toHaveProperty("MAX_ACTIVITY_HITS");
  });

  it("return RESULT, STATUS and assigned variables, but never settings", () => {
    const played = play(caller, () => ({
      kind: "returned",
      status: "success",
      word: null,
      result: "R",
      variables: { B: "2", MAX_ACTIVITY_HITS: "99" },
      reason: null,
    }));
    expect(played.state.variables).toMatchObject({ RESULT: "R", B: "2", MAX_ACTIVITY_HITS: "7" });
    expect(played.state.assigned).toEqual(["B"]);
  });

  it("fail the caller if the callee fails and the call has no fail edge", () => {
    const played = play(caller, () => ({
      kind: "returned",
      status: "failed",
      word: null,
      result: "why",
      variables: {},
      reason: { code: "CHECK_FALSE", message: "x" },
    }));
    expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "CALL_FAILED" } });
    expect(played.state.variables.RESULT).toBe("why");
  });

  it("stop at the depth limit", () => {
    const played = play(caller, () => ({ kind: "done" }), started({ caller: { depth: 20, agent: "", threads: {} } }));
    expect(played.state.phase).toMatchObject({ reason: { code: "LIMIT_DEPTH" } });
  });
});

describe("SET STATUS", () => {
  it.each([
    ["DOING", { status: "success", reason: null }],
    ["DONE", { status: "failed", reason: { code: "VALUE_INVALID" } }],
  ])("to the value %s ends the run as %j", (value, ended) => {
    const status: Node = {
      kind: "set",
      target: { to: "variable", name: "STATUS" },
      value: { from: "name", name: "WISH" },
    };
    const program = programOf({ START: start, SET: status }, edgesOf("START SET"));
    expect(play(program, replies(), started({ variables: { WISH: value } })).state.phase).toMatchObject(ended);
  });
});

describe("followStep", () => {
  const follow = (program: typeof loop, events: ReturnType<typeof play>["events"]) => {
    let state = initialState;
    const checked = events.flatMap((event) => {
      const next = followStep(program, state, event);
      state = next.state;
      return next.checked.map(({ activity, holds }) => `${event.at} ${activity.node}.${activity.generation} ${holds}`);
    });
    return { state, checked };
  };

  it("returns the same state as step, and each check's result once, with the event that decides it", () => {
    const played = play(loop, replies("again", "DONE"));
    const followed = follow(loop, [...played.events, ...played.events]);
    expect(followed.state).toEqual(played.state);
    expect(followed.checked).toEqual(["1002 CHECK_IT.1 false", "1005 CHECK_IT.2 true"]);
  });

  it("reports the checks of a superstep when all its activities are done, with the values that the checks then see", () => {
    const together = programOf(
      { CHECK_IT: equals("DONE"), PROMPT_TRY: prompt("Try") },
      edgesOf("CHECK_IT PROMPT_TRY"),
      { scheduling: "superstep", entry: ["PROMPT_TRY", "CHECK_IT"] },
    );
    const played = play(together, replies("DONE"));
    const [begun, replied, checkedAt] = played.events;
    if (begun === undefined || replied === undefined || checkedAt === undefined) throw new Error("too short");
    expect(follow(together, [begun, checkedAt, replied]).checked).toEqual(["1001 CHECK_IT.1 true"]);
  });
});
