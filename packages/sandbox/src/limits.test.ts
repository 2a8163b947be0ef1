import { describe, expect, it } from "vitest";
import { clampLimits, defaultLimits } from "./limits.ts";

describe("session limits", () => {
  it("a request below the ceiling is used; otherwise the ceiling is used", () => {
    const limits = clampLimits({ wallMs: 5_000, memoryBytes: 10 ** 15, cpus: 0.5 }, defaultLimits);
    expect(limits).toEqual({ ...defaultLimits, wallMs: 5_000, cpus: 0.5 });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("a wall clock of %d is refused", (wallMs) => {
    expect(() => clampLimits({ wallMs }, defaultLimits)).toThrow(/SANDBOX_LIMITS_INVALID.*wallMs/);
    expect(() => clampLimits({}, { ...defaultLimits, wallMs })).toThrow(/for ever/);
  });

  it("a set without the wall clock is refused", () => {
    const { wallMs: _, ...rest } = defaultLimits;
    expect(() => clampLimits({}, rest as typeof defaultLimits)).toThrow(/SANDBOX_LIMITS_INVALID/);
  });

  it("any other limit that is not a positive number is refused, and 0.4 is not rounded up", () => {
    expect(() => clampLimits({ pids: 0.4 }, defaultLimits)).toThrow(/pids/);
    expect(() => clampLimits({ memoryBytes: Number.NaN }, defaultLimits)).toThrow(/memoryBytes/);
  });
});
