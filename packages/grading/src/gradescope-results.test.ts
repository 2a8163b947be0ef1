import { describe, expect, it } from "vitest";
import { isVisible, readGradescopeResults, testsOfGradescope } from "./gradescope-results.ts";

const read = (value: unknown, total?: number) => {
  const found = readGradescopeResults(JSON.stringify(value), total);
  if (found.is !== "read") throw new Error(found.why);
  return found.results;
};

describe("results.json", () => {
  it("is read with all its fields", () => {
    const results = read({
      score: 44.0,
      execution_time: 136,
      output: "Text",
      output_format: "simple_format",
      test_output_format: "md",
      test_name_format: "html",
      visibility: "after_due_date",
      stdout_visibility: "visible",
      extra_data: { a: 1 },
      tests: [
        {
          score: 2,
          max_score: "3",
          status: "failed",
          name: "Odd",
          name_format: "text",
          number: 1.1,
          output: "…",
          output_format: "ansi",
          tags: ["t"],
          visibility: "hidden",
          extra_data: {},
        },
        { status: "passed", max_score: 4 },
      ],
      leaderboard: [
        { name: "Time", value: 3, order: "asc" },
        { name: "Stars", value: "***" },
      ],
      surprising: true,
    });
    expect(results).toMatchObject({
      score: 44,
      executionTime: 136,
      outputFormat: "simple_format",
      visibility: "after_due_date",
      stdoutVisibility: "visible",
      extraData: { a: 1 },
      tests: [
        {
          name: "Odd",
          nameFormat: "text",
          number: "1.1",
          score: 2,
          maxScore: 3,
          status: "failed",
          outputFormat: "ansi",
          tags: ["t"],
          visibility: "hidden",
        },
        {
          name: "Test 2",
          nameFormat: "html",
          number: "2",
          score: 4,
          status: "passed",
          outputFormat: "md",
          visibility: "after_due_date",
        },
      ],
      leaderboard: [{ value: "3", order: "asc" }, { order: "desc" }],
    });
  });

  it("sums the tests where it gives no score, and knows when there is none", () => {
    expect(read({ tests: [{ score: 0.1 }, { score: 0.2 }] }).score).toBe(0.3);
    expect(read({ tests: [{ output: "no score" }] }).score).toBeNull();
    expect(read({}).score).toBeNull();
  });

  it("is clamped where a score is none, and says so", () => {
    const results = read(
      {
        score: 99,
        tests: [
          { name: "a", score: 9, max_score: 2 },
          { name: "b", score: -1, max_score: 2 },
        ],
      },
      10,
    );
    expect(results).toMatchObject({ score: 10, tests: [{ score: 2 }, { score: 0 }] });
    expect(results.notes).toHaveLength(3);
  });

  it.each([["[]"], ["no json"], ['{"tests": {}}'], ['{"score": "many"}'], ['{"visibility": "sometimes"}']])(
    "%s is unusable, not a zero",
    (text) => {
      expect(readGradescopeResults(text).is).toBe("unusable");
    },
  );

  it("becomes tests of criteria, of which a name that stands twice is two", () => {
    const tests = testsOfGradescope(
      read({ tests: [{ name: "a", score: 1, max_score: 2 }, { name: "a", status: "passed" }, { name: "b" }] }),
    );
    expect(tests).toMatchObject([
      { name: "a", weight: 2, share: 0.5, passed: false },
      { name: "a (2)", weight: 1, share: 1, passed: true },
      { name: "b", weight: 1, share: 0, passed: false },
    ]);
  });

  it("shows students what they may see at the moment", () => {
    const shown = (afterDueDate: boolean, published: boolean) =>
      (["visible", "hidden", "after_due_date", "after_published"] as const).filter((visibility) =>
        isVisible(visibility, { afterDueDate, published }),
      );
    expect(shown(false, false)).toEqual(["visible"]);
    expect(shown(true, false)).toEqual(["visible", "after_due_date"]);
    expect(shown(true, true)).toEqual(["visible", "after_due_date", "after_published"]);
  });
});
