import { describe, expect, it } from "vitest";
import type { Outcome } from "./event.ts";
import type { Node } from "./program.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const judge: Node = { kind: "execute", command: "test", nonZero: "ok", repeat: "safe", session: "judge" };
const ran = (more: object = {}): Outcome => ({ kind: "executed", text: "$ test\n", exitCode: 1, commands: 1, ...more });
const tests = '{"is":"read","tests":[],"notes":[]}';

describe("TEST_RESULTS", () => {
  const once = programOf({ START: start, EXECUTE_A: judge }, edgesOf("START EXECUTE_A"));

  it("contains the results of a judge's tests and is returned to the caller", () => {
    const { state } = play(once, () => ran({ tests }));
    expect(state.variables.TEST_RESULTS).toBe(tests);
    expect(state.assigned).toContain("TEST_RESULTS");
  });

  it("is not written by a judge without results, so old states stay unchanged", () => {
    const { state } = play(once, () => ran());
    expect(state.variables).not.toHaveProperty("TEST_RESULTS");
    expect(state.assigned).toEqual(["EXIT_CODE"]);
  });

  it("is not written by a command in the student's session, even if its outcome contains results", () => {
    const { session: _, ...student } = judge as Extract<Node, { kind: "execute" }>;
    const program = programOf({ START: start, EXECUTE_A: student }, edgesOf("START EXECUTE_A"));
    expect(play(program, () => ran({ tests })).state.variables).not.toHaveProperty("TEST_RESULTS");
  });

  const twice = programOf(
    { START: start, EXECUTE_A: judge, EXECUTE_B: { ...judge } },
    edgesOf("START EXECUTE_A", "EXECUTE_A EXECUTE_B"),
  );

  it("is emptied if a later judge leaves no results", () => {
    const answers = [ran({ tests }), ran()];
    expect(play(twice, () => answers.shift() ?? ran()).state.variables.TEST_RESULTS).toBe("");
  });

  it("is emptied if a later judge fails", () => {
    const answers = [ran({ tests })];
    const failure = { failure: { code: "SANDBOX_FILES_REFUSED", message: "no" }, next: "fail" } as const;
    expect(play(twice, () => answers.shift() ?? failure).state.variables.TEST_RESULTS).toBe("");
  });

  it("of the caller is emptied too, and the empty value is returned", () => {
    const { state } = play(once, () => ran(), started({ variables: { TEST_RESULTS: tests } }));
    expect(state.variables.TEST_RESULTS).toBe("");
    expect(state.assigned).toContain("TEST_RESULTS");
  });

  it("is bounded like every text", () => {
    const { state } = play(once, () => ran({ tests: "x".repeat(3 * 1024 * 1024) }));
    expect(state.phase).toMatchObject({ status: "failed", reason: { code: "VALUE_TOO_LONG" } });
  });
});
