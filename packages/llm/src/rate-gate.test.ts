import { describe, expect, it } from "vitest";
import { createRateGate, freshRateState, grantSlot } from "./rate-gate.ts";

function starts(calls: number, tokens: number, limits: Parameters<typeof grantSlot>[2], now = 1_000): number[] {
  let state = freshRateState;
  return Array.from({ length: calls }, () => {
    const slot = grantSlot(state, tokens, limits, now);
    state = slot.state;
    return slot.startAt - now;
  });
}

describe("granting slots", () => {
  it("without limits starts everything at once", () => {
    expect(starts(100, 1e6, {})).toEqual(new Array(100).fill(0));
  });

  it("lets a tenth of a minute's requests go at once and spaces the rest evenly", () => {
    expect(starts(14, 0, { requestsPerMinute: 100 })).toEqual([...new Array(10).fill(0), 600, 1200, 1800, 2400]);
  });

  it("spaces a model of one request a minute by a minute", () => {
    expect(starts(3, 0, { requestsPerMinute: 1 })).toEqual([0, 60_000, 120_000]);
  });

  it("never starts more tokens in a minute than allowed plus one burst and one call", () => {
    const tokens = 1_000;
    const at = starts(300, tokens, { tokensPerMinute: 60_000 });
    for (const from of at) {
      const used = at.filter((start) => start >= from && start < from + 60_000).length * tokens;
      expect(used).toBeLessThanOrEqual(60_000 + 6_000 + tokens);
    }
    expect(at.at(-1)).toBeLessThanOrEqual(300 * 1_000);
  });

  it("lets a call larger than the burst through, and the next one waits for it", () => {
    expect(starts(2, 60_000, { tokensPerMinute: 60_000 })).toEqual([0, 54_000]);
  });

  it("forgets the past after a pause", () => {
    const { state } = grantSlot(freshRateState, 60_000, { tokensPerMinute: 60_000 }, 0);
    expect(grantSlot(state, 1, { tokensPerMinute: 60_000 }, 120_000).startAt).toBe(120_000);
  });
});

describe("the gate of one process", () => {
  it("makes a call wait for its slot, per model", async () => {
    const gate = createRateGate();
    const limits = { requestsPerMinute: 600 };
    const begun = performance.now();
    for (let call = 0; call < 62; call += 1) await gate.take("a", 0, limits);
    const waited = performance.now() - begun;
    expect(waited).toBeGreaterThan(150);
    const other = performance.now();
    await gate.take("b", 0, limits);
    expect(performance.now() - other).toBeLessThan(100);
  });

  it("gives up waiting when the signal fires", async () => {
    const gate = createRateGate();
    const limits = { requestsPerMinute: 1 };
    await gate.take("a", 0, limits);
    const stop = new AbortController();
    const waiting = gate.take("a", 0, limits, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow();
    await expect(gate.take("a", 0, limits, stop.signal)).rejects.toThrow();
  });
});
