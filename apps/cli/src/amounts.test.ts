import { describe, expect, it } from "vitest";
import { countOf, formatDollars, formatElapsed } from "./amounts.ts";

describe("amounts", () => {
  it("group the digits of counts", () => {
    expect([countOf(1, "step"), countOf(1_204, "step")]).toEqual(["1 step", "1,204 steps"]);
  });

  it("keep the digits of small sums and drop those of long times", () => {
    expect([0, 46_000, 3_370_000, 2_500_000_000].map(formatDollars)).toEqual([
      "$0.00",
      "$0.000046",
      "$0.0034",
      "$2.50",
    ]);
    expect([420, 12_300, 185_000, 7_800_000].map(formatElapsed)).toEqual(["0.4 s", "12 s", "3 m 05 s", "2 h 10 m"]);
  });
});
