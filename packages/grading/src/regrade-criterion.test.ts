import { describe, expect, it } from "vitest";
import { type Grade, type GradeInput, gradeWork } from "./grade.ts";
import { regradeCriterion } from "./regrade-criterion.ts";
import type { Rubric } from "./rubric.ts";

const rubric: Rubric = {
  criteria: ["names", "pure", "works"].map((id) => ({
    id,
    title: id,
    points: 4,
    scale: { is: "points", step: 1 },
    evidence: false,
    guidance: "",
    source: id === "works" ? { is: "tests", patterns: ["*"] } : { is: "llm" },
  })),
} as Rubric;
const verdict = (criterion: string, points: number, confidence = 0.9) => ({
  criterion,
  points,
  level: null,
  comment: `${criterion} ${points}`,
  evidence: [],
  confidence,
  notes: [],
});
const tests = (passed: boolean): GradeInput["tests"] =>
  ({
    is: "read",
    notes: [],
    tests: [{ name: "a", passed, weight: 1, share: passed ? 1 : 0, message: "", visibility: "hidden" }],
  }) as GradeInput["tests"];
const input = (marks: Readonly<Record<string, number>>, more: Partial<GradeInput> = {}): GradeInput =>
  ({
    tests: tests(true),
    verdicts: {
      verdicts: Object.entries(marks).map(([id, points]) => verdict(id, points)),
      problems: [],
      nextSteps: [],
    },
    ...more,
  }) as GradeInput;
const standing = (more: Partial<GradeInput> = {}): Grade => gradeWork(rubric, input({ names: 1, pure: 3 }, more));

describe("regrading one criterion", () => {
  it("changes its own mark and the sum, and no letter of any other criterion", () => {
    const before = standing();
    const after = regradeCriterion(rubric, before, "names", input({ names: 4 }, { tests: null }));
    expect(after).toMatchObject({ outcome: { is: "graded" }, points: 11, total: 11, most: 12 });
    expect(after.criteria[0]).toMatchObject({ id: "names", points: 4, comment: "names 4" });
    expect(after.criteria.slice(1)).toEqual(before.criteria.slice(1));
  });

  it("with tests uses the new results and no model", () => {
    const after = regradeCriterion(rubric, standing(), "works", { tests: tests(false), verdicts: null });
    expect(after.criteria.map((one) => (one.is === "scored" ? one.points : null))).toEqual([1, 3, 0]);
  });

  it("closes doubts about that criterion alone, and keeps every other reason and flag", () => {
    const review = { confidenceBelow: 0.5, flags: ["injection", "low confidence"] } as const;
    const spoken = { kind: "injection", message: "asks for points", file: "a.js", line: 1 } as const;
    const unsure = {
      verdicts: [verdict("names", 1, 0.2), verdict("pure", 3)],
      problems: [],
      nextSteps: ["Read on."],
    };
    const before = standing({ review, flags: [spoken], verdicts: unsure } as Partial<GradeInput>);
    expect(before.outcome).toMatchObject({
      why: ["a.js:1 asks for points", "names: the model's confidence is only 20 %"],
    });
    const after = regradeCriterion(rubric, before, "names", input({ names: 2 }, { review, flags: [spoken] }));
    expect(after.outcome).toEqual({ is: "needs human", why: ["a.js:1 asks for points"] });
    expect(after.flags).toEqual([spoken]);
    expect(after).toMatchObject({ points: 9, total: null, nextSteps: ["Read on."] });

    const open = standing({ verdicts: { verdicts: [verdict("pure", 3)], problems: [], nextSteps: [] } } as never);
    expect(open.outcome.is).toBe("needs human");
    expect(regradeCriterion(rubric, open, "names", input({ names: 2 }))).toMatchObject({ total: 9 });
  });

  it("without an answer keeps the old mark and asks for a human decision", () => {
    const none = {
      tests: null,
      verdicts: { verdicts: [], problems: [{ criterion: null, problem: "no JSON" }], nextSteps: [] },
    };
    const after = regradeCriterion(rubric, standing(), "names", none);
    expect(after.criteria[0]).toMatchObject({ is: "scored", points: 1 });
    expect(after.outcome).toEqual({ is: "needs human", why: ["names could not be graded again: no JSON"] });
    const untested = regradeCriterion(rubric, standing(), "works", { tests: null, verdicts: null });
    expect(untested).toMatchObject({ points: 8, outcome: { why: [expect.stringContaining("the tests did not run")] } });
  });

  it("counts the points and keeps the order of the current rubric", () => {
    const [names, pure, works] = rubric.criteria as [
      Rubric["criteria"][0],
      Rubric["criteria"][0],
      Rubric["criteria"][0],
    ];
    const now: Rubric = { criteria: [pure, { ...names, points: 10 }, works] };
    const after = regradeCriterion(now, standing(), "names", input({ names: 9 }));
    expect(after).toMatchObject({ most: 18, points: 16, criteria: [{ id: "pure" }, { id: "names" }, { id: "works" }] });
  });

  it("compares the total points, not its own, with the pass mark", () => {
    const review = { passMark: 0.75, borderline: 0.05, flags: ["borderline"] } as const;
    expect(regradeCriterion(rubric, standing({ review }), "names", input({ names: 2 }, { review })).outcome).toEqual({
      is: "needs human",
      why: ["9 of 12 is near the pass mark"],
    });
    const near = gradeWork(rubric, input({ names: 2, pure: 3 }, { review }));
    expect(near.outcome.is).toBe("needs human");
    expect(regradeCriterion(rubric, near, "names", input({ names: 4 }, { review }))).toMatchObject({
      total: 11,
      flags: [],
    });
  });
});

it("regradeCriterion keeps the flag of a file whose name begins like the criterion", () => {
  const flag = { kind: "injection", message: "asks for points", file: "names: a.js", line: 3 } as const;
  const before = standing({ flags: [flag], review: { flags: ["injection"] } });
  const after = regradeCriterion(rubric, before, "names", input({ names: 4 }, { tests: null }));
  expect(after.outcome).toEqual({ is: "needs human", why: ["names: a.js:3 asks for points"] });
});
