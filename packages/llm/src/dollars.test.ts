import { describe, expect, it } from "vitest";
import { formatDollars, nanodollars } from "./dollars.ts";

describe("dollar amounts", () => {
  it("become whole nanodollars, rounded up", () => {
    expect([nanodollars(0.1), nanodollars(0.15), nanodollars(1.25), nanodollars(1e-10)]).toEqual([1e8, 15e7, 125e7, 1]);
  });

  it("are printed with all digits of the amount", () => {
    expect([0, 1, 1e9, 1.5e9, 12_300_000, -5e8].map(formatDollars)).toEqual([
      "$0.00",
      "$0.000000001",
      "$1.00",
      "$1.50",
      "$0.0123",
      "-$0.50",
    ]);
  });
});
