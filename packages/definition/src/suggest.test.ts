import { describe, expect, it } from "vitest";
import { suggest } from "./suggest.ts";

describe("suggest", () => {
  it.each([
    ["PROMT", "PROMPT"],
    ["chek", "CHECK"],
    ["EXCEUTE", "EXECUTE"],
    ["strat", "START"],
    ["CALLL", "CALL"],
  ])("takes %s for %s", (word, meant) => {
    expect(suggest(word, ["START", "SET", "CHECK", "PROMPT", "EXECUTE", "CALL"])).toBe(meant);
  });

  it("gives nothing when no candidate is near", () => {
    expect(suggest("banana", ["START", "SET"])).toBeNull();
    expect(suggest("x", ["SET"])).toBeNull();
    expect(suggest("", ["A"])).toBeNull();
    expect(suggest("A".repeat(65), ["A".repeat(65)])).toBeNull();
  });

  it("prefers the nearer candidate, then the earlier", () => {
    expect(suggest("SCOER", ["SCOPE", "SCORE"])).toBe("SCORE");
    expect(suggest("AB1", ["AB2", "AB3"])).toBe("AB2");
  });
});
