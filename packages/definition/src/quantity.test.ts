import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  duration,
  formatDuration,
  formatMoney,
  money,
  parseDuration,
  parseMoney,
  parseSize,
  readAmount,
  size,
} from "./quantity.ts";

describe("amounts", () => {
  it.each([
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["90", 90_000],
    ["2d", 172_800_000],
    ["soon", null],
    ["10 minutes", null],
    ["-5s", null],
    ["", null],
  ])("reads the time %j as %j ms", (text, expected) => expect(parseDuration(text)).toBe(expected));

  it.each([
    ["512m", 512 * 1024 ** 2],
    ["1g", 1024 ** 3],
    ["64KiB", 65_536],
    ["100", 100],
    ["5 apples", null],
    ["1.5g", null],
  ])("reads the size %j as %j bytes", (text, expected) => expect(parseSize(text)).toBe(expected));

  it.each([
    ["$0.50", 500_000_000],
    ["0.1", 100_000_000],
    ["3", 3_000_000_000],
    ["0.000000001", 1],
    ["€5", null],
    ["1e3", null],
  ])("reads the money %j as %j nanodollars", (text, expected) => expect(parseMoney(text)).toBe(expected));

  it("reads back the amounts that it writes", () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e12), (milliseconds, nanodollars) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
        expect(parseMoney(formatMoney(nanodollars))).toBe(nanodollars);
      }),
    );
  });

  it.each([
    ["3650d", duration, 315_360_000_000],
    ["3651d", duration, null],
    ["999999999999d", duration, null],
    ["99999999999", duration, null],
    ["8191t", size, 8191 * 1024 ** 4],
    ["9007199254740992", size, null],
    ["9000000", money, 9e15],
    ["9999999", money, null],
    ["9000000.000000001", money, null],
  ])("applies the bound of its kind to %j", (text, amount, expected) => {
    const read = readAmount(amount, text);
    expect(read.ok ? read.value : null).toBe(expected);
    if (!read.ok) expect(read.problem).toContain("at most");
  });

  it("for text that is not an amount, shows an example instead of the bound", () => {
    expect(readAmount(duration, "soon")).toEqual({ ok: false, problem: "expected something like 10m, 90s or 1h30m" });
  });
});
