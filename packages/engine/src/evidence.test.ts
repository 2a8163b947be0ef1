import { describe, expect, it } from "vitest";
import type { Outcome } from "./event.ts";
import type { Node, Program } from "./program.ts";
import { type Answer, edgesOf, play, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const execute: Node = { kind: "execute", command: "test", nonZero: "ok", repeat: "safe" };
const grade: Node = { kind: "grade", task: { from: "template", text: "" } };
const call: Node = { kind: "call", program: "below" };
const isZero: Node = {
  kind: "check",
  condition: { op: "equals", left: { from: "name", name: "EXIT_CODE" }, right: { from: "literal", text: "0" } },
};
const ran = (exitCode: number, commands = 1): Outcome => ({ kind: "executed", text: "", exitCode, commands });
const trouble: Answer = { failure: { code: "SANDBOX_FAILED", message: "no" }, next: "fail" };
const done: Outcome = { kind: "done" };

/** Runs the callee for each CALL and returns its result to the caller, as the store does. */
function playTree(programs: Record<string, Program>, root: string, answers: Answer[], variables = {}) {
  const run = (name: string, first: Parameters<typeof play>[2]): ReturnType<typeof play> =>
    play(
      programs[name] as Program,
      (work) => {
        if (work.kind === "check" || work.kind === "set" || work.kind === "assign") return done;
        if (work.kind !== "call") return answers.shift() ?? ran(0);
        const below = run(
          work.program,
          started({ variables: work.start.variables, caller: { ...work.start, run: "r" } as never }),
        );
        const end = below.commands.find((command) => command.do === "end");
        if (end?.do !== "end") throw new Error("the callee did not end");
        const { status, word, result, reason } = end;
        return { kind: "returned", status, word, result, variables: end.variables, reason };
      },
      first,
    );
  return run(root, started({ variables }));
}

const lines = (...of: string[]) => edgesOf(...of);
const runs = programOf({ START: start, EXECUTE_A: execute }, lines("START EXECUTE_A"));
const calls = programOf({ START: start, CALL_A: call }, lines("START CALL_A"));
const runsThenCalls = programOf(
  { START: start, EXECUTE_A: execute, CALL_A: call },
  lines("START EXECUTE_A", "EXECUTE_A CALL_A"),
);

describe("EXIT_CODE", () => {
  it("after a CALL is the callee's, even if the caller ran an EXECUTE before", () => {
    const { state } = playTree({ root: runsThenCalls, below: runs }, "root", [ran(0), ran(2)]);
    expect(state.variables.EXIT_CODE).toBe("2");
  });

  it("after a CALL is the callee's, if the caller ran no EXECUTE", () => {
    expect(playTree({ root: calls, below: runs }, "root", [ran(2)]).state.variables.EXIT_CODE).toBe("2");
  });

  it("is the callee's, three calls deep", () => {
    const deep = (program: string) => programOf({ START: start, CALL_A: { ...call, program } }, lines("START CALL_A"));
    const programs = { root: deep("one"), one: deep("two"), two: deep("below"), below: runs };
    expect(playTree(programs, "root", [ran(3)]).state.variables.EXIT_CODE).toBe("3");
  });

  it("stays the caller's if the callee runs no EXECUTE", () => {
    const quiet = programOf({ START: start }, []);
    expect(playTree({ root: runsThenCalls, below: quiet }, "root", [ran(4)]).state.variables.EXIT_CODE).toBe("4");
  });

  it("is empty after an EXECUTE that failed itself, also in the caller", () => {
    const twice = programOf(
      {
        START: start,
        EXECUTE_A: execute,
        EXECUTE_B: execute,
        CHECK_C: isZero,
        FAILED: { kind: "end", outcome: "failed" },
      },
      lines("START EXECUTE_A", "EXECUTE_A EXECUTE_B", "EXECUTE_B -fail- CHECK_C", "CHECK_C -fail- FAILED"),
    );
    const own = playTree({ root: twice }, "root", [ran(0), trouble]);
    expect(own.state.variables.EXIT_CODE).toBe("");
    expect(own.state.phase).toMatchObject({ status: "failed", reason: { code: "FAILED_REACHED" } });
    expect(playTree({ root: runsThenCalls, below: runs }, "root", [ran(0), trouble]).state.variables.EXIT_CODE).toBe(
      "",
    );
  });

  it("is empty after an EXECUTE whose command could not be filled or is too long", () => {
    for (const value of ["a; b", "x".repeat(3 * 1024 * 1024)]) {
      const fills = programOf(
        { START: start, EXECUTE_A: execute, EXECUTE_B: { ...execute, command: "echo $(( {{X}} ))" } as Node },
        lines("START EXECUTE_A", "EXECUTE_A EXECUTE_B"),
        { prompts: { X: { role: "user", text: value } } },
      );
      expect(playTree({ root: fills }, "root", [ran(0)]).state.variables.EXIT_CODE).toBe("");
    }
  });

  it("is empty after a reply without commands, because no command ended with 0", () => {
    const { state } = playTree({ root: runsThenCalls, below: runs }, "root", [ran(0), ran(0, 0)]);
    expect(state.variables.EXIT_CODE).toBe("");
  });

  it("from an EXECUTE in a handler stays in its run, and the caller gets the earlier one", () => {
    const handled = programOf(
      {
        START: start,
        EXECUTE_A: execute,
        FAILED: { kind: "end", outcome: "failed" },
        ON_FAILED: start,
        EXECUTE_LOG: execute,
      },
      lines("START EXECUTE_A", "EXECUTE_A FAILED", "ON_FAILED EXECUTE_LOG"),
      { handlers: { success: null, failed: "ON_FAILED" } },
    );
    const { state } = playTree({ root: calls, below: handled }, "root", [ran(2), ran(0)]);
    expect(state.variables.EXIT_CODE).toBe("2");
    const only = programOf({ START: start, ON_SUCCESS: start, EXECUTE_LOG: execute }, lines("ON_SUCCESS EXECUTE_LOG"), {
      handlers: { success: "ON_SUCCESS", failed: null },
    });
    expect(playTree({ root: runsThenCalls, below: only }, "root", [ran(5), ran(0)]).state.variables.EXIT_CODE).toBe(
      "5",
    );
  });

  it("becomes empty if items of a map call workflows with an EXECUTE, because none of them is the latest", () => {
    const each: Node = {
      kind: "map",
      over: { from: "literal", text: "a\nb" },
      each: { kind: "call", program: "below" },
      concurrency: 2,
      itemError: "collect",
      minSuccess: 0,
    };
    const root = programOf(
      { START: start, EXECUTE_A: execute, MAP_A: each },
      lines("START EXECUTE_A", "EXECUTE_A MAP_A"),
    );
    expect(playTree({ root, below: runs }, "root", [ran(0), ran(0), ran(1)]).state.variables.EXIT_CODE).toBe("");
    const quiet = programOf({ START: start }, []);
    expect(playTree({ root, below: quiet }, "root", [ran(0)]).state.variables.EXIT_CODE).toBe("0");
  });

  it("can be used in the command of the next EXECUTE", () => {
    const commands: string[] = [];
    const program = programOf(
      { START: start, EXECUTE_A: execute, EXECUTE_B: { ...execute, command: "echo {{EXIT_CODE}}" } as Node },
      lines("START EXECUTE_A", "EXECUTE_A EXECUTE_B"),
    );
    play(program, (work) => {
      if (work.kind === "execute") commands.push(work.text);
      return ran(7);
    });
    expect(commands).toEqual(["test", "echo 7"]);
  });
});

describe("OUTCOME and POINTS", () => {
  const rubric = { rubric: {} };
  const graded: Outcome = { kind: "graded", is: "graded", points: 9, text: "well", grade: {} };
  const once = programOf({ START: start, GRADE_A: grade }, lines("START GRADE_A"), rubric);
  const twice = programOf(
    { START: start, GRADE_A: grade, GRADE_B: grade },
    lines("START GRADE_A", "GRADE_A GRADE_B"),
    rubric,
  );

  it("reach the caller by the same rule as EXIT_CODE", () => {
    expect(playTree({ root: calls, below: once }, "root", [graded]).state.variables).toMatchObject({
      OUTCOME: "graded",
      POINTS: "9",
    });
  });

  it("are empty after a GRADE that failed itself", () => {
    expect(playTree({ root: twice }, "root", [graded, trouble]).state.variables).toMatchObject({
      OUTCOME: "",
      POINTS: "",
    });
  });
});
