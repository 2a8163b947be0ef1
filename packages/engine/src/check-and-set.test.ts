import { describe, expect, it } from "vitest";
import type { Condition } from "./condition.ts";
import type { Node } from "./program.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const name = (of: string) => ({ from: "name", name: of }) as const;

describe("an unquoted right side of a CHECK", () => {
  const holds = (condition: Condition, variables: Record<string, string>, environment: Record<string, string> = {}) => {
    const program = programOf({ START: start, CHECK_A: { kind: "check", condition } }, edgesOf("START CHECK_A"), {
      prompts: { User: { role: "user", text: "Hello" }, PASSED: { role: "user", text: "a prompt" } },
    });
    const { state } = play(program, () => ({ kind: "done" }), started({ variables, environment }));
    return state.phase.is === "ended" && state.phase.status === "success";
  };
  const equals = (right: string): Condition => ({ op: "equals", left: name("RESULT"), right: name(right) });

  it("never refers to a prompt with the same name", () => {
    expect(holds(equals("PASSED"), { RESULT: "PASSED" })).toBe(true);
    expect(holds(equals("PASSED"), { RESULT: "a prompt" })).toBe(false);
    expect(holds({ op: "in", left: name("RESULT"), of: [name("User")] }, { RESULT: "User" })).toBe(true);
    expect(holds({ op: "contains", left: name("RESULT"), right: name("User") }, { RESULT: "the User" })).toBe(true);
  });

  it("refers to the variable of that name, then to the environment, then to the word itself", () => {
    expect(holds(equals("PASSED"), { RESULT: "7", PASSED: "7" })).toBe(true);
    expect(holds(equals("HOST"), { RESULT: "example.org" }, { HOST: "example.org" })).toBe(true);
    expect(holds(equals("HOST"), { RESULT: "HOST" })).toBe(true);
  });
});

describe("SET of a setting", () => {
  const set = (target: string, value: string) => {
    const node: Node = { kind: "set", target: { to: "variable", name: target }, value: name("GIVEN") };
    const program = programOf({ START: start, SET_A: node }, edgesOf("START SET_A"));
    const { state } = play(program, () => ({ kind: "done" }), started({ variables: { GIVEN: value } }));
    return state.phase.is === "ended" ? (state.phase.reason?.code ?? "set") : "open";
  };

  it.each([
    ["AI_TEMPERATURE", "9"],
    ["AI_TEMPERATURE", "hot"],
    ["AI_TOP_P", "-0.1"],
    ["AI_MAX_OUTPUT_TOKENS", "1.5"],
    ["MAX_STEPS", "0"],
    ["MAX_ACTIVITY_HITS", "2.5"],
    ["MAX_COST", "$1"],
    ["MAX_COST", "99999999"],
  ])("%s with the invalid value %j fails the step", (target, value) => {
    expect(set(target, value)).toBe("SETTING_INVALID");
  });

  it.each([
    ["AI_TEMPERATURE", "0.5"],
    ["AI_TEMPERATURE", ""],
    ["AI_MODEL_NAME", "any"],
    ["MAX_STEPS", "10"],
    ["MAX_POINTS", "many"],
  ])("%s with the valid value %j succeeds", (target, value) => expect(set(target, value)).toBe("set"));
});
