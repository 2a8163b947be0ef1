import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gradeWork } from "./grade.ts";
import {
  defaultStep,
  floorShare,
  floorToStep,
  formatPercent,
  formatPoints,
  isNearShare,
  isWhole,
  meanPoints,
  multiplyDecimals,
  readPoints,
  roundPoints,
  scalePoints,
  subtractPoints,
  sumPoints,
} from "./points.ts";
import { readRubric } from "./read-rubric.ts";
import { mostPoints, type Rubric } from "./rubric.ts";
import { readTestResults } from "./test-results.ts";
import { readVerdicts } from "./verdict.ts";
import { workFiles } from "./work-files.ts";

const thousandths = fc.integer({ min: 1, max: 30_000 });

describe("sumPoints", () => {
  it("adds exact decimals", () => {
    expect(sumPoints([1.1, 2.2])).toBe(3.3);
    expect(sumPoints([0.1, 0.2])).toBe(0.3);
    expect(subtractPoints(3.3, 1.1)).toBe(2.2);
    expect(Object.is(sumPoints([-1, 1]), 0)).toBe(true);
  });

  it("equals the sum of the thousandths, for any points", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -30_000, max: 30_000 }), { maxLength: 40 }), (units) => {
        const sum = units.reduce((all, one) => all + one, 0);
        expect(sumPoints(units.map((one) => one / 1000))).toBe(sum / 1000 || 0);
      }),
    );
  });

  it("rounds the decimal as written, half away from zero", () => {
    expect(roundPoints(1.0005)).toBe(1.001);
    expect(roundPoints(-1.0005)).toBe(-1.001);
    expect(roundPoints(1e-7)).toBe(0);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("refuses %s and never treats it as 0", (value) => {
    expect(() => roundPoints(value)).toThrow(RangeError);
  });
});

describe("scalePoints", () => {
  it("rounds once, from the exact value", () => {
    expect(scalePoints(3.3, 10, 3.3)).toBe(10);
    expect(scalePoints(1, 1, 3)).toBe(0.333);
    expect(scalePoints(2.675, 1, 1, 2)).toBe(2.68);
    expect(scalePoints(1.005, 100, 100, 2)).toBe(1.01);
    expect(scalePoints(0.3, 35, 100)).toBe(0.105);
  });

  it("refuses a maximum of 0", () => {
    expect(() => scalePoints(3, 10, 0)).toThrow(RangeError);
  });

  it("stays within the new maximum and maps the maximum to the maximum", () => {
    fc.assert(
      fc.property(thousandths, thousandths, thousandths, (a, b, c) => {
        const [points, most] = [Math.min(a, b) / 1000, Math.max(a, b) / 1000];
        expect(scalePoints(most, c / 1000, most)).toBe(c / 1000);
        expect(scalePoints(points, c / 1000, most)).toBeLessThanOrEqual(c / 1000);
        expect(scalePoints(0, c / 1000, most)).toBe(0);
      }),
    );
  });
});

describe("formatPoints", () => {
  it("prints no binary rounding error and keeps three places", () => {
    expect(formatPoints(1.1 + 2.2)).toBe("3.3");
    expect(formatPoints(0.125)).toBe("0.125");
    expect(formatPoints(0.125, 2)).toBe("0.13");
    expect(formatPoints(-0.0001)).toBe("0");
    expect(formatPercent(3 * 0.1)).toBe("0.3 %");
    expect(multiplyDecimals(3, 0.1)).toBe(0.3);
  });

  it("prints text that is read back as the same points", () => {
    fc.assert(
      fc.property(fc.integer({ min: -999_999_999, max: 999_999_999 }), (units) => {
        expect(readPoints(formatPoints(units / 1000))).toBe(units / 1000 || 0);
      }),
    );
  });

  it("readPoints refuses values finer than a thousandth", () => {
    expect(readPoints("0.0001")).toBeNull();
  });
});

describe("the step of a scale", () => {
  it.each([
    [0.25, 0.25],
    [2.25, 0.25],
    [3.3, 0.1],
    [3.35, 0.05],
    [1.5, 0.5],
    [4, 1],
    [0.125, 0.005],
    [0.001, 0.001],
    [-2.25, 0.25],
    [0.07, 0.01],
  ])("for %s points is %s unless the rubric sets a step", (points, step) => {
    expect(defaultStep(points)).toBe(step);
  });

  it("keeps the maximum reachable even if it does not divide it", () => {
    expect(floorToStep(3.3, 0.5, 3.3)).toBe(3.3);
    expect(floorToStep(3.2, 0.5, 3.3)).toBe(3);
    expect(floorToStep(-3.3, 0.5, -3.3)).toBe(-3.3);
  });

  it("for a decimal share is computed from the fraction it stands for", () => {
    expect(floorShare({ parts: [[1, 1 / 3]], whole: 1 }, 1, 3)).toBe(1);
    expect(floorShare({ parts: [[0.1, 7]], whole: 1 }, 0.1, 1)).toBe(0.7);
    expect(isWhole({ parts: Array.from({ length: 10 }, () => [0.1, 1] as const), whole: 1 })).toBe(true);
  });

  it("near a pass mark is compared exactly", () => {
    expect(isNearShare(1.1, 2, 0.5, 0.05)).toBe(true);
    expect(isNearShare(1.101, 2, 0.5, 0.05)).toBe(false);
  });
});

const nonce = "0123456789abcdef";
const kinds = ["", "points", "binary", "levels"] as const;
const rubrics = fc
  .array(
    fc.record({
      units: fc.oneof(
        thousandths,
        fc.integer({ min: 1, max: 80 }).map((one) => one * 250),
        fc.integer({ min: 1, max: 90 }).map((one) => one * 100),
      ),
      kind: fc.constantFrom(...kinds),
      source: fc.constantFrom("tests: *", "llm"),
      deduction: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((rows): Rubric => {
    const lines = rows.map(({ units, kind, source, deduction }, index) => {
      const points = (deduction && index > 0 ? -units : units) / 1000;
      const scale = kind === "levels" ? `levels: none=0, full=${points}` : kind;
      return `| c${index} | what | ${points} | ${scale} | no | ${source} |`;
    });
    const found: string[] = [];
    const report = (code: string, _: unknown, message: string) => found.push(`${code} ${message}`);
    const table = ["| id | criterion | points | kind | evidence | source |", "|---|---|---|---|---|---|", ...lines];
    const rubric = readRubric(
      table.map((text, index) => ({ text, file: "r.md", line: index + 1 })),
      { file: "r.md", line: 1, column: 1 },
      { error: report, warn: report, didYouMean: () => "" },
    );
    if (rubric === null) throw new Error(found.join("\n"));
    return rubric;
  });

/** Returns a grade in which tests and model give the same share for every criterion. Share 1 is perfect. */
function gradeAll(rubric: Rubric, share: number) {
  const criteria = rubric.criteria.map(({ id, points, scale }) => {
    const full = share === 1;
    const kept = points < 0 ? 1 - share : share;
    const level = scale.is === "levels" ? scale.levels[full === points > 0 ? 1 : 0]?.name : null;
    const mark = { met: full === points > 0, level, points: points * kept };
    return [id, { comment: "c", evidence: [], confidence: 1, ...mark }];
  });
  const tests = readTestResults(
    JSON.stringify({ nonce, tests: [{ name: "a", status: share === 1 ? "passed" : "failed", share }] }),
    nonce,
  );
  const reply = JSON.stringify({ criteria: Object.fromEntries(criteria), nextSteps: [] });
  return gradeWork(rubric, { tests, verdicts: readVerdicts(rubric, reply, workFiles({})) });
}

describe("grading with any readable rubric", () => {
  it("gives exactly the maximum for a perfect submission and 0 for a submission without any share", () => {
    fc.assert(
      fc.property(rubrics, (rubric) => {
        const [perfect, nothing] = [gradeAll(rubric, 1), gradeAll(rubric, 0)];
        expect(perfect).toMatchObject({ outcome: { is: "graded" }, total: mostPoints(rubric) });
        expect(nothing).toMatchObject({ outcome: { is: "graded" }, total: 0 });
      }),
      { numRuns: 500 },
    );
  });

  it("gives only multiples of the step and prints each with at most three places", () => {
    fc.assert(
      fc.property(rubrics, fc.double({ min: 0, max: 1, noNaN: true }), (rubric, share) => {
        const { criteria, points } = gradeAll(rubric, share);
        for (const [index, one] of criteria.entries()) {
          const { scale, points: most } = rubric.criteria[index] ?? { scale: { is: "binary" as const }, points: 0 };
          if (one.is !== "scored") throw new Error(one.why);
          const units = Math.round(one.points * 1000);
          expect(units / 1000).toBe(one.points);
          if (scale.is === "points")
            expect(one.points === most || units % Math.round(scale.step * 1000) === 0).toBe(true);
        }
        expect(String(points)).toMatch(/^\d+(?:\.\d{1,3})?$/);
      }),
      { numRuns: 500 },
    );
  });
});

it("meanPoints divides the exact sum and rounds once", () => {
  expect([meanPoints([0.1, 0.2, 0.3]), meanPoints([1.1, 2.2]), meanPoints([0.1, 0.7, 0.1])]).toEqual([0.2, 1.65, 0.3]);
  expect([meanPoints([1, 1.01], 2), meanPoints([1, 1, 2], 2), meanPoints([-0.005], 2)]).toEqual([1.01, 1.33, -0.01]);
});
