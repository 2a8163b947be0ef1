import { describe, expect, it } from "vitest";
import { clampLimits, defaultLimits } from "./limits.ts";

describe("limits", () => {
  it("takes what is asked below the ceiling and the ceiling where more or nothing is asked", () => {
    const limits = clampLimits({ wallMs: 5_000, memoryBytes: 10 ** 15, cpus: 0.5 }, defaultLimits);
    expect(limits).toEqual({ ...defaultLimits, wallMs: 5_000, cpus: 0.5 });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("refuses a wall clock of %d", (wallMs) => {
    expect(() => clampLimits({ wallMs }, defaultLimits)).toThrow(/SANDBOX_LIMITS_INVALID.*wallMs/);
    expect(() => clampLimits({}, { ...defaultLimits, wallMs })).toThrow(/for ever/);
  });

  it("refuses a set that lacks the wall clock altogether", () => {
    const { wallMs: _, ...rest } = defaultLimits;
    expect(() => clampLimits({}, rest as typeof defaultLimits)).toThrow(/SANDBOX_LIMITS_INVALID/);
  });

  it("refuses any other limit that is not a positive number, and rounds none up from nothing", () => {
    expect(() => clampLimits({ pids: 0.4 }, defaultLimits)).toThrow(/pids/);
    expect(() => clampLimits({ memoryBytes: Number.NaN }, defaultLimits)).toThrow(/memoryBytes/);
  });
});
