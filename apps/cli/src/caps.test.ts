import { describe, expect, it } from "vitest";
import { readCaps } from "./caps.ts";

describe("caps of a run", () => {
  it("are read as a workflow file writes them", () => {
    expect(readCaps({})).toEqual({});
    expect(readCaps({ budget: "$0.50", "max-time": "1h30m", "max-tokens": "100_000" })).toEqual({
      nanodollars: 500_000_000,
      timeMs: 5_400_000,
      tokens: 100_000,
    });
    expect(readCaps({ budget: "0" })).toEqual({ nanodollars: 0 });
  });

  it.each([
    [{ budget: "much" }, "--budget is an amount of dollars: expected something like 0.50 or $0.50, not 'much'."],
    [{ budget: "9999999" }, "--budget is an amount of dollars: expected at most $9000000, not '9999999'."],
    [{ budget: "-1" }, "--budget is an amount of dollars"],
    [{ "max-time": "soon" }, "--max-time is a time: expected something like 10m, 90s or 1h30m, not 'soon'."],
    [{ "max-time": "0s" }, "--max-time must be more than nothing."],
    [{ "max-tokens": "1.5" }, "--max-tokens is a whole number, not '1.5'."],
  ])("%j is refused with an example or a bound", (flags, words) => {
    expect(() => readCaps(flags)).toThrow(words);
  });
});
