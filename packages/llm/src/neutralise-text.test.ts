import { describe, expect, it } from "vitest";
import { createDeltaNeutraliser, neutraliseText } from "./neutralise-text.ts";

describe("neutralised text", () => {
  it("contains no NUL and no half of a surrogate pair", () => {
    expect(neutraliseText("a\u0000b\ud83dc\ude00 😀")).toBe("a\uFFFDb\uFFFDc\uFFFD 😀");
  });

  it("keeps a pair that arrives in two pieces", () => {
    const deltas = createDeltaNeutraliser();
    expect([deltas.push("a\ud83d"), deltas.push("\ude00b"), deltas.flush()]).toEqual(["a", "😀b", ""]);
  });

  it("replaces half a pair at the end of the last piece", () => {
    const deltas = createDeltaNeutraliser();
    expect([deltas.push("a\ud83d"), deltas.flush()]).toEqual(["a", "\uFFFD"]);
  });
});
