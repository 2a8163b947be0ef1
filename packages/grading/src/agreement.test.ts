import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agreement } from "./agreement.ts";

const pairs = (...given: [number, number][]) => given.map(([human, ai]) => ({ human, ai }));

describe("agreement between two graders", () => {
  it("reports shares, points, correlation, consistency and leniency", () => {
    const found = agreement(pairs([9, 2], [6, 1], [8, 4], [7, 1], [10, 5], [6, 2]), 1);
    expect(found).toMatchObject({ pairs: 6, exact: 0, withinOneStep: 0 });
    // The first two judges of the table in Shrout and Fleiss (1979). For two judges, ICC(3,1) is twice the covariance divided by the sum of
    // the variances.
    expect(found?.correlation).toBeCloseTo(0.745_36, 4);
    expect(found?.icc).toBeCloseTo(0.745_34, 4);
    expect(found?.mae).toBeCloseTo(31 / 6);
    expect(found?.leniency).toBeCloseTo(-31 / 6);
  });

  it("is perfect in order and lenient by 1 when one grader always gives 1 point more", () => {
    expect(agreement(pairs([1, 2], [2, 3], [4, 5]), 1)).toMatchObject({
      exact: 0,
      withinOneStep: 1,
      mae: 1,
      leniency: 1,
      correlation: expect.closeTo(1),
      icc: expect.closeTo(1),
    });
  });

  it("compares marks as exact decimals: 0.3 and 0.2 are one step of 0.1 apart, and means have no binary rounding error", () => {
    expect(agreement(pairs([0.3, 0.2], [1.1, 1.2], [0.7, 0.8]), 0.1)).toMatchObject({
      exact: 0,
      withinOneStep: 1,
      mae: 0.1,
      leniency: 0.033333333,
    });
    expect(agreement(pairs([0.2, 0.3], [0.6, 0.7]), 0.1)).toMatchObject({ mae: 0.1, leniency: 0.1 });
  });

  it("returns null when there are no pairs, and no coefficients when they are undefined", () => {
    expect(agreement([], 1)).toBeNull();
    expect(agreement(pairs([1, 1], [2, 2]), 1)).toMatchObject({ exact: 1, correlation: null, icc: null });
    expect(agreement(pairs([2, 1], [2, 2], [2, 3]), 1)).toMatchObject({ correlation: null });
    expect(agreement(pairs([2, 2], [2, 2], [2, 2]), 1)).toMatchObject({ icc: null, exact: 1 });
  });

  it("keeps every figure within its bounds", () => {
    const mark = fc.integer({ min: 0, max: 10 });
    fc.assert(
      fc.property(fc.array(fc.record({ human: mark, ai: mark }), { minLength: 1 }), (given) => {
        const found = agreement(given, 1);
        expect(found?.exact).toBeLessThanOrEqual(found?.withinOneStep ?? 0);
        expect(Math.abs(found?.leniency ?? 0)).toBeLessThanOrEqual((found?.mae ?? 0) + 1e-9);
        for (const value of [found?.correlation, found?.icc])
          if (value != null) expect(Math.abs(value)).toBeLessThanOrEqual(1 + 1e-9);
      }),
    );
  });
});
