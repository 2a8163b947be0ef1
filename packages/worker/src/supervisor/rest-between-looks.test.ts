import { expect, it } from "vitest";
import { restBetweenLooks } from "./rest-between-looks.ts";

it("a supervisor loop rests as long as its last cycle took", () => {
  expect(restBetweenLooks(0, false)).toBe(0);
  expect(restBetweenLooks(200, false)).toBe(200);
  expect(restBetweenLooks(200, true)).toBe(200);
});

it("cycles that follow notifications begin at least 50 ms apart", () => {
  for (const tookMs of [0, 1, 10, 49, 50, 500])
    expect(tookMs + restBetweenLooks(tookMs, true)).toBeGreaterThanOrEqual(50);
});

it("a supervisor loop rests at most three seconds", () => {
  expect([restBetweenLooks(60_000, false), restBetweenLooks(60_000, true)]).toEqual([3_000, 3_000]);
});
