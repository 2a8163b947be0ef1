import { describe, expect, it } from "vitest";
import { suggest } from "./suggest.ts";

describe("suggest", () => {
  it.each([
    ["PROMT", "PROMPT"],
    ["chek", "CHECK"],
    ["EXCEUTE", "EXECUTE"],
    ["strat", "START"],
    ["CALLL", "CALL"],
  ])("suggests for %s the word %s", (word, meant) => {
    expect(suggest(word, ["START", "SET", "CHECK", "PROMPT", "EXECUTE", "CALL"])).toBe(meant);
  });

  it("suggests nothing if no candidate is similar", () => {
    expect(suggest("banana", ["START", "SET"])).toBeNull();
    expect(suggest("x", ["SET"])).toBeNull();
    expect(suggest("", ["A"])).toBeNull();
    expect(suggest("A".repeat(65), ["A".repeat(65)])).toBeNull();
  });

  it("prefers the most similar candidate, and of equal ones the earlier", () => {
    expect(suggest("SCOER", ["SCOPE", "SCORE"])).toBe("SCORE");
    expect(suggest("AB1", ["AB2", "AB3"])).toBe("AB2");
  });
});
