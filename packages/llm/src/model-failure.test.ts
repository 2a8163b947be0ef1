import { describe, expect, it } from "vitest";
import { modelFailureCodes, retryAfter } from "./model-failure.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const wait = (headers: Record<string, string>) => retryAfter(new Headers(headers), noon);

describe("the wait that an endpoint asks for", () => {
  it("is read from milliseconds before seconds", () => {
    expect(wait({ "retry-after-ms": "250", "retry-after": "9" })).toBe(250);
    expect(wait({ "retry-after": "9" })).toBe(9_000);
    expect(wait({ "retry-after": "0.5" })).toBe(500);
  });

  it("is read from a date relative to the endpoint's own clock, else to ours", () => {
    const until = "Sun, 01 Mar 2026 12:00:30 GMT";
    expect(wait({ "retry-after": until })).toBe(30_000);
    expect(wait({ "retry-after": until, date: "Sun, 01 Mar 2026 12:00:20 GMT" })).toBe(10_000);
  });

  it("is never negative, never more than a day, and absent when it makes no sense", () => {
    expect(wait({ "retry-after": "Sun, 01 Mar 2026 11:00:00 GMT" })).toBe(0);
    expect(wait({ "retry-after": "99999999" })).toBe(86_400_000);
    expect([
      wait({}),
      wait({ "retry-after": "soon" }),
      wait({ "retry-after": "-5x" }),
      retryAfter(undefined, noon),
    ]).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe("the table of model failures", () => {
  it("has one sentence for every code", () => {
    for (const [code, { sentence }] of Object.entries(modelFailureCodes)) {
      expect(code).toMatch(/^(?:MODEL|BATCH_BUDGET)_[A-Z_]+$/);
      expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(sentence.match(/\.(\s|$)/g)).toHaveLength(1);
    }
  });
});
