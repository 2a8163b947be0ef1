import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graderError, gradeWork, latePenalty, ungradable } from "./grade.ts";
import { floorToStep, readPoints, sumPoints } from "./points.ts";
import { mostPoints, stepOf } from "./rubric.ts";
import { fits, type ReadResults, readTestResults, scoreTests } from "./test-results.ts";
import { criterion, sampleRubric } from "./testing-rubric.ts";
import type { ReadVerdicts, Verdict } from "./verdict.ts";

const NONCE = "0123456789abcdef";
const results = (passed: number, of: number): ReadResults =>
  readTestResults(
    JSON.stringify({
      nonce: NONCE,
      tests: Array.from({ length: of }, (_, index) => ({
        name: `t${index}`,
        status: index < passed ? "passed" : "failed",
      })),
    }),
    NONCE,
  );
const verdict = (id: string, points: number, confidence = 0.9): Verdict => ({
  criterion: id,
  points,
  level: null,
  evidence: [],
  confidence,
  comment: "c",
  notes: [],
});
const verdicts = (...given: Verdict[]): ReadVerdicts => ({ verdicts: given, problems: [], nextSteps: [] });
const all = verdicts(verdict("names", 2), verdict("pure", 1), verdict("style", 2));

describe("gradeWork", () => {
  it("adds up test results and verdicts", () => {
    expect(gradeWork(sampleRubric, { tests: results(3, 4), verdicts: all })).toMatchObject({
      outcome: { is: "graded" },
      points: 9.5,
      total: 9.5,
      most: 12,
      criteria: [
        { by: "tests", points: 4.5, comment: "3 of 4 tests passed." },
        { by: "llm" },
        { by: "llm" },
        { by: "llm" },
      ],
    });
  });

  it('reports "graded" for a real zero', () => {
    const zero = verdicts(verdict("names", 0), verdict("pure", 0), verdict("style", 0));
    expect(gradeWork(sampleRubric, { tests: results(0, 4), verdicts: zero })).toMatchObject({
      outcome: { is: "graded" },
      total: 0,
    });
  });

  it("with an open criterion has no points and needs a human decision", () => {
    const part: ReadVerdicts = {
      verdicts: [verdict("names", 2)],
      problems: [{ criterion: "pure", problem: "is missing" }],
      nextSteps: [],
    };
    expect(gradeWork(sampleRubric, { tests: results(4, 4), verdicts: part })).toMatchObject({
      outcome: { is: "needs human", why: ["pure: is missing", "style: no model has graded this"] },
      points: null,
      total: null,
    });
    expect(gradeWork(sampleRubric, { tests: results(4, 4), verdicts: null }).outcome.is).toBe("needs human");
  });

  it("without usable tests is a grader error, and a forged results file is flagged", () => {
    const forged = readTestResults(JSON.stringify({ nonce: "guess", tests: [] }), NONCE);
    expect(gradeWork(sampleRubric, { tests: forged, verdicts: all })).toMatchObject({
      outcome: { is: "grader error" },
      total: null,
      flags: [{ kind: "forged results" }],
    });
    expect(gradeWork(sampleRubric, { tests: null, verdicts: all }).outcome.is).toBe("grader error");
    expect(gradeWork({ criteria: sampleRubric.criteria.slice(1) }, { tests: null, verdicts: all }).outcome.is).toBe(
      "graded",
    );
  });

  it("with tests that match no criterion is not a zero", () => {
    const rubric = { criteria: [criterion({ id: "x", source: { is: "tests", patterns: ["even/*"] } })] };
    expect(gradeWork(rubric, { tests: results(4, 4), verdicts: null })).toMatchObject({
      outcome: { is: "needs human" },
      total: null,
    });
  });

  it("prefers a person's mark over all others, within the scale", () => {
    const human = [{ criterion: "tests", points: 99, comment: "I ran it." }];
    expect(gradeWork(sampleRubric, { tests: results(0, 4), verdicts: all, human }).criteria[0]).toMatchObject({
      by: "human",
      points: 6,
    });
  });

  it("shows a penalty as its own line and never goes below zero", () => {
    const penalty = latePenalty(12, { percentPerDay: 10, mostPercent: 50 }, 26 * 3_600_000);
    expect(penalty).toEqual({ points: 2.4, why: "2 days late, 20 %" });
    expect(gradeWork(sampleRubric, { tests: results(4, 4), verdicts: all, penalty })).toMatchObject({
      points: 11,
      total: 8.6,
    });
    expect(
      gradeWork(sampleRubric, { tests: results(4, 4), verdicts: all, penalty: { points: 99, why: "x" } }).total,
    ).toBe(0);
    expect(latePenalty(12, { percentPerDay: 10, mostPercent: 50 }, 99 * 86_400_000)).toMatchObject({ points: 6 });
    expect(latePenalty(12, { percentPerDay: 3.3, mostPercent: 50 }, 3 * 86_400_000)?.why).toBe("3 days late, 9.9 %");
    expect(latePenalty(12, { percentPerDay: 10, mostPercent: 50 }, null)).toBeNull();
  });

  it("sends a submission to a person for the reasons in the policy, with its points as a proposal", () => {
    const review = {
      confidenceBelow: 0.6,
      passMark: 0.5,
      borderline: 0.05,
      flags: ["low confidence", "borderline", "injection"] as const,
    };
    const doubt = verdicts(verdict("names", 2, 0.3), verdict("pure", 1), verdict("style", 2));
    expect(gradeWork(sampleRubric, { tests: results(4, 4), verdicts: doubt, review })).toMatchObject({
      outcome: { is: "needs human", why: [expect.stringMatching("names: the model's confidence is only 30 %")] },
      points: 11,
      total: null,
    });
    const borderline = gradeWork(sampleRubric, {
      tests: results(2, 4),
      verdicts: verdicts(verdict("names", 1), verdict("pure", 1), verdict("style", 1)),
      review,
    });
    expect(borderline.flags).toMatchObject([{ kind: "borderline" }]);
    const flagged = { tests: results(4, 4), verdicts: all, flags: [{ kind: "injection", message: "m" }] as const };
    expect(gradeWork(sampleRubric, { ...flagged, review }).outcome.is).toBe("needs human");
    expect(gradeWork(sampleRubric, flagged)).toMatchObject({
      outcome: { is: "graded" },
      total: 11,
      flags: [{ kind: "injection" }],
    });
  });

  it("without a possible grade is ungradable or a grader error, and has no number", () => {
    expect(ungradable(sampleRubric, "empty")).toMatchObject({
      outcome: { is: "ungradable", why: "empty" },
      points: null,
      total: null,
    });
    expect(graderError(sampleRubric, "down")).toMatchObject({ outcome: { is: "grader error" }, total: null });
  });
});

describe("test results of a criterion", () => {
  it("count only with the nonce of the session", () => {
    expect(readTestResults('{"tests":[]}', NONCE).is).toBe("forged");
    expect(readTestResults(`{"nonce":["${NONCE}"],"tests":[]}`, NONCE).is).toBe("forged");
    expect(readTestResults("nonsense", NONCE).is).toBe("unusable");
    expect(readTestResults(`{"nonce":"${NONCE}"}`, NONCE).is).toBe("unusable");
    expect(readTestResults(" ".repeat(1024 * 1024 + 1), NONCE).is).toBe("unusable");
    expect(() => readTestResults("{}", "short")).toThrow(RangeError);
  });

  it("with one name twice are unusable, because it is unclear which one counts", () => {
    const tests = [
      { name: "a", status: "passed" },
      { name: "a", status: "failed" },
    ];
    expect(readTestResults(JSON.stringify({ nonce: NONCE, tests }), NONCE).is).toBe("unusable");
  });

  it("are clamped, weighted and rounded towards zero", () => {
    const read = readTestResults(
      JSON.stringify({
        nonce: NONCE,
        tests: [
          { name: "a", status: "passed", weight: 3 },
          { name: "b", status: "failed", share: 9 },
          { name: "c", status: "skipped" },
        ],
      }),
      NONCE,
    );
    expect(read).toMatchObject({ is: "read", notes: [expect.stringMatching("b: a share of 9 became 1")] });
    const tests = read.is === "read" ? read.tests : [];
    const scored = (given: Parameters<typeof criterion>[0]) =>
      scoreTests(criterion({ source: { is: "tests", patterns: ["*"] }, ...given }), tests);
    expect(scored({ id: "x", points: 6 })).toMatchObject({ points: 4 });
    expect(scored({ id: "x", points: 6, scale: { is: "points", step: 0.5 } })).toMatchObject({ points: 4.5 });
    expect(scored({ id: "x", points: 6, scale: { is: "binary" } })).toMatchObject({ points: 0, level: "not met" });
    expect(
      scored({
        id: "x",
        points: 6,
        scale: {
          is: "levels",
          levels: [
            { name: "n", points: 0 },
            { name: "h", points: 3 },
            { name: "f", points: 6 },
          ],
        },
      }),
    ).toMatchObject({ points: 3, level: "h" });
    expect(scored({ id: "x", points: -5, scale: { is: "points", step: 0.5 } })).toMatchObject({ points: -1 });
  });

  it.each([
    ["median/odd", "median/*", true],
    ["median", "median/*", false],
    ["a", "a", true],
    ["ab", "a", false],
    ["x even y", "*even*", true],
    ["aba", "a*b*a", true],
    ["aa", "a*a*a", false],
    ["", "*", true],
  ])("matching the name %j against the pattern %j: %s", (name, pattern, wants) => {
    expect(fits(name, pattern)).toBe(wants);
  });
});

describe("points", () => {
  it("are added exactly and read as written", () => {
    expect(sumPoints([0.1, 0.2])).toBe(0.3);
    expect([readPoints("2,5"), readPoints("\u22121"), readPoints("1e3"), readPoints("")]).toEqual([
      2.5,
      -1,
      null,
      null,
    ]);
    expect(mostPoints(sampleRubric)).toBe(12);
    expect(sampleRubric.criteria.map(stepOf)).toEqual([0.5, 1, 1, 1]);
  });

  it("rounded to steps never exceed the original value", () => {
    fc.assert(
      fc.property(fc.integer({ min: -9000, max: 9000 }), fc.constantFrom(0.1, 0.25, 0.5, 1, 3), (thousandths, step) => {
        const points = thousandths / 1000;
        const most = points < 0 ? -9001 : 9001;
        const floored = floorToStep(points, step, most);
        expect(Math.abs(floored)).toBeLessThanOrEqual(Math.abs(points) + 1e-9);
        expect(Math.abs(points) - Math.abs(floored)).toBeLessThan(step + 1e-9);
        expect(floorToStep(floored, step, most)).toBe(floored);
      }),
    );
  });
});
