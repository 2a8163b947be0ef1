import { describe, expect, it } from "vitest";
import { keysOfGroups } from "./group-keys.ts";

describe("keys of groups", () => {
  const keys = (groups: readonly string[], others: readonly string[]) =>
    Object.fromEntries(keysOfGroups(new Set(groups), new Set(others)));

  it("are their names, unless a student has that key", () => {
    expect(keys(["Blue", "7"], ["7", "8"])).toEqual({ Blue: "Blue", 7: "group 7" });
  });

  it("are never another group's, nor a student's, whatever both are called", () => {
    expect(keys(["X", "group X", "group group X"], ["X"])).toEqual({
      "group X": "group X",
      "group group X": "group group X",
      X: "group group group X",
    });
    expect(keys(["A", "group A"], ["A", "group A"])).toEqual({ A: "group group A", "group A": "group group group A" });
    expect(keys(["a+b"], ["a", "b", "a+b"])).toEqual({ "a+b": "group a+b" });
  });
});
