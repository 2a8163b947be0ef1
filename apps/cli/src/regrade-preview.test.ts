import { gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { gradeChanges, regradePrice } from "./regrade-preview.ts";

const spent = (nanodollars: number, calls = 1) => ({
  calls,
  promptTokens: 0,
  completionTokens: 0,
  characters: 0,
  nanodollars,
});

describe("the preview of a regrade", () => {
  it("adds up each submission's average cost per grading attempt", () => {
    const works = [
      workOf("1", gradeOf([1, 1]), { spent: spent(100) }),
      workOf("2", gradeOf([1, 1]), { spent: spent(600), tries: 2 }),
    ];
    expect(regradePrice(works)).toBe(400);
    expect(regradePrice([workOf("1", null)])).toBeNull();
  });

  it("lists what changed and what did not", () => {
    const before = [workOf("1", gradeOf([6, 4])), workOf("2", gradeOf([6, null])), workOf("3", gradeOf([1, 1]))];
    const after = [workOf("1", gradeOf([6, 2])), workOf("2", gradeOf([6, 3])), workOf("3", gradeOf([1, 1]))];
    expect(gradeChanges(before, after)).toMatchObject([
      { from: "10", to: "8", criteria: [{ id: "names", from: 4, to: 2 }], changed: true },
      { from: "needs human", to: "9", criteria: [{ id: "names", from: null, to: 3 }], changed: true },
      { from: "2", to: "2", criteria: [], changed: false },
    ]);
  });
});
