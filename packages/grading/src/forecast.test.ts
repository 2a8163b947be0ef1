import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateCost, stratifiedSample, timeRemaining } from "./forecast.ts";

describe("timeRemaining", () => {
  it("is null until five submissions are finished", () => {
    expect(timeRemaining([1, 2, 3, 4], 10, 2)).toBeNull();
  });

  it("is a range from the middle half, divided among the slots", () => {
    expect(timeRemaining([10, 20, 30, 40, 50], 10, 2)).toEqual({ lowMs: 100, highMs: 200 });
    expect(timeRemaining([10, 20, 30, 40, 50], 1, 64)).toEqual({ lowMs: 20, highMs: 40 });
    expect(timeRemaining([10, 20, 30, 40, 50], 0, 2)).toEqual({ lowMs: 0, highMs: 0 });
  });
});

describe("estimateCost", () => {
  const works = [{ characters: 4000 }, { characters: 8000 }];
  const plan = { calls: 2, promptCharacters: 4000, completionTokens: 500 };

  it("uses the lengths of the submissions before any call was made", () => {
    const price = { prompt: 1e9, completion: 2e9 };
    expect(estimateCost(works, plan, price)).toEqual({
      calls: 4,
      promptTokens: 2 * 2000 + 2 * 3000,
      completionTokens: 2000,
      lowNanodollars: Math.round((10_000 * 1000 + 2000 * 2000) * 0.8),
      highNanodollars: Math.round((10_000 * 1000 + 2000 * 2000) * 1.5),
    });
  });

  it("uses the calls of the pilot when there are some", () => {
    const pilot = [100, 200, 300].map((promptTokens) => ({ promptTokens, completionTokens: 10, calls: 3 }));
    const found = estimateCost(works, plan, { prompt: 1e9, completion: 0 }, pilot);
    expect(found).toMatchObject({ calls: 6, promptTokens: 400, lowNanodollars: 300_000, highNanodollars: 560_000 });
  });

  it("is unknown, not zero, when the price is unknown", () => {
    expect(estimateCost(works, plan, null)).toMatchObject({ lowNanodollars: null, highNanodollars: null });
  });
});

describe("stratifiedSample", () => {
  it("contains the smallest, the largest and some in between, and is the same each time", () => {
    const works = [5, 1, 4, 2, 3, 9, 7].map((size) => ({ key: `k${size}`, size }));
    expect(stratifiedSample(works, 3).map(({ size }) => size)).toEqual([1, 4, 9]);
    expect(stratifiedSample([...works].reverse(), 3).map(({ size }) => size)).toEqual([1, 4, 9]);
    expect(stratifiedSample(works, 1).map(({ size }) => size)).toEqual([4]);
    expect(stratifiedSample(works, 99)).toHaveLength(7);
    expect(stratifiedSample(works, 0)).toEqual([]);
  });

  it("never contains a submission twice", () => {
    const work = fc.record({ size: fc.nat(9), score: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(work, { minLength: 1 }), fc.nat(40), (given, count) => {
        const works = given.map((one, index) => ({ ...one, key: String(index) }));
        const sample = stratifiedSample(works, count);
        expect(sample).toHaveLength(Math.min(count, works.length));
        expect(new Set(sample.map(({ key }) => key)).size).toBe(sample.length);
      }),
    );
  });
});
