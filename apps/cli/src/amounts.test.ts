import { describe, expect, it } from "vitest";
import { countOf, formatDollars, formatElapsed, parseCount, parseDollars, parseDuration } from "./amounts.ts";

describe("amounts", () => {
  it.each([
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["90", 90_000],
    ["-1", null],
    ["10 minutes", null],
    ["", null],
  ])("%s is a time of %s ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each([
    ["0.50", 500_000_000],
    ["$2", 2_000_000_000],
    ["0.000000001", 1],
    ["0.0000000001", null],
    ["-1", null],
    ["1e3", null],
  ])("%s is %s nanodollars", (text, nanodollars) => expect(parseDollars(text)).toBe(nanodollars));

  it("counts may be grouped", () => {
    expect([parseCount("100_000"), parseCount("1,000"), parseCount("1.5")]).toEqual([100_000, 1_000, null]);
    expect([countOf(1, "step"), countOf(1_204, "step")]).toEqual(["1 step", "1,204 steps"]);
  });

  it("small sums keep their digits, long times lose theirs", () => {
    expect([0, 46_000, 3_370_000, 2_500_000_000].map(formatDollars)).toEqual([
      "$0.00",
      "$0.000046",
      "$0.0034",
      "$2.50",
    ]);
    expect([420, 12_300, 185_000, 7_800_000].map(formatElapsed)).toEqual(["0.4 s", "12 s", "3 m 05 s", "2 h 10 m"]);
  });
});
