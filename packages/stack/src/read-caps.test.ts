import { describe, expect, it } from "vitest";
import { parseCount, readCaps, type WrittenCaps } from "./read-caps.ts";

describe("readCaps", () => {
  it("reads limits in the form of a workflow file", async () => {
    expect(await readCaps({})).toEqual({ caps: {}, patienceMs: undefined });
    expect(await readCaps({ budget: "$0.50", maxTime: "1h30m", maxTokens: "100_000", patience: "30m" })).toEqual({
      caps: { nanodollars: 500_000_000, timeMs: 5_400_000, tokens: 100_000 },
      patienceMs: 1_800_000,
    });
    expect(await readCaps({ budget: "0" })).toMatchObject({ caps: { nanodollars: 0 } });
  });

  it.each<[WrittenCaps, string]>([
    [{ budget: "much" }, "budget is an amount of dollars: expected something like 0.50 or $0.50, not 'much'."],
    [{ budget: "9999999" }, "budget is an amount of dollars: expected at most $9000000, not '9999999'."],
    [{ budget: "-1" }, "budget is an amount of dollars"],
    [{ maxTime: "soon" }, "maxTime is a time: expected something like 10m, 90s or 1h30m, not 'soon'."],
    [{ maxTime: "0s" }, "maxTime must be longer than 0."],
    [{ maxTokens: "1.5" }, "maxTokens must be a whole number, not '1.5'."],
    [{ patience: "long" }, "patience is a time"],
  ])("refuses %j with an example or a bound", async (written, words) => {
    await expect(readCaps(written)).rejects.toThrow(words);
  });

  it("names the limit in an error as the caller named it", async () => {
    await expect(readCaps({ maxTime: "soon" }, () => "--max-time")).rejects.toThrow("--max-time is a time");
  });

  it("accepts counts with digit groups", () => {
    expect([parseCount("100_000"), parseCount("1,000"), parseCount("1.5")]).toEqual([100_000, 1_000, null]);
  });
});
