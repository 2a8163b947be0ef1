import { describe, expect, it } from "vitest";
import { gradeWork } from "./grade.ts";
import { isVisible, readGradescopeResults, testsOfGradescope } from "./gradescope-results.ts";
import { regradeCriterion } from "./regrade-criterion.ts";
import { storedResults } from "./stored-results.ts";
import { criterion } from "./testing-rubric.ts";

const read = (value: unknown) => {
  const found = readGradescopeResults(JSON.stringify(value));
  if (found.is !== "read") throw new Error(found.why);
  return found.results;
};

describe("reading results.json of a Gradescope autograder", () => {
  it("reports a deeply nested file as unusable and does not throw", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    expect(readGradescopeResults(`{"tests": [{"name": "a", "output": ${deep}}]}`)).toEqual({
      is: "unusable",
      why: "results.json is nested too deep",
    });
  });

  it("reads all fields", () => {
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

  it("adds up the test scores exactly, and recognises when there is no score", () => {
    expect(read({ tests: [{ score: 1.1 }, { score: 2.2 }] }).sum).toBe(3.3);
    expect(read({ tests: [{ output: "no score" }] }).sum).toBeNull();
    expect(read({})).toMatchObject({ score: null, sum: null });
  });

  it("keeps extra credit and negative scores, and adds a note", () => {
    const results = read({
      score: 99,
      tests: [
        { name: "a", score: 9, max_score: 2 },
        { name: "b", score: -1, max_score: 2 },
      ],
    });
    expect(results).toMatchObject({ score: 99, sum: 8, tests: [{ score: 9 }, { score: -1 }] });
    expect(results.notes).toEqual([
      "a: 9 of 2 points is extra credit",
      "b: the score -1 is negative and deducts points",
    ]);
  });

  it.each([
    [{ score: "8.50" }, 8.5],
    [{ score: ".5", tests: [{ name: ["odd"], output: { a: 1 }, output_format: "rich", tags: "t" }] }, 0.5],
    [{ score: 3, execution_time: "long", leaderboard: [{ name: "Time" }, 4], output_format: "latex" }, 3],
  ])("accepts %j although a field without points is unusual", (value, score) => {
    expect(read(value).score).toBe(score);
  });

  it.each([["[]"], ["no json"], ['{"tests": {}}'], ['{"score": "many"}'], ['{"visibility": "sometimes"}']])(
    "reports the file %s as unusable, not as a zero",
    (text) => {
      expect(readGradescopeResults(text).is).toBe("unusable");
    },
  );

  it("turns its tests into tests of criteria, where a repeated name is two tests", () => {
    const { tests } = testsOfGradescope(
      read({ tests: [{ name: "a", score: 1, max_score: 2 }, { name: "a", status: "passed" }, { name: "b" }] }),
    );
    expect(tests).toMatchObject([
      { name: "a", weight: 2, share: 0.5, passed: false },
      { name: "a (2)", weight: 0, share: 1, passed: true },
      { name: "b", weight: 0, share: 0, passed: false, undecided: true },
    ]);
  });

  describe("scoring a criterion of 10 points", () => {
    const one = criterion({
      id: "t",
      points: 10,
      evidence: false,
      source: { is: "tests", patterns: ["*"] },
      scale: { is: "points", step: 0.5 },
    });
    const grade = (value: unknown, criteria = [one]) =>
      gradeWork({ criteria }, { tests: { is: "read", ...testsOfGradescope(read(value)) }, verdicts: null });
    const passed = { name: "a", score: 2, max_score: 2 };

    it.each([
      ["a test of 0 points weighs 0", { tests: [passed, { name: "b", score: 0, max_score: 0, status: "failed" }] }, 10],
      ["a status without a score weighs 0", { tests: [passed, { name: "b", status: "failed" }] }, 10],
      ["an output without score and status weighs 0", { tests: [passed, { name: "log", output: "…" }] }, 10],
      ["a max_score without score and status counts as 0", { tests: [passed, { name: "b", max_score: 2 }] }, 5],
      ["the status changes no score", { tests: [{ name: "a", score: 1, max_score: 2, status: "passed" }] }, 5],
      [
        "score without max_score is points",
        {
          tests: [
            { name: "a", score: 3 },
            { name: "b", score: 4.5 },
          ],
        },
        7.5,
      ],
      ["one max_score is missing", { tests: [passed, { name: "b", score: 4 }] }, 6],
      ["a score alone", { score: 8 }, 8],
      ["a score alone above the points", { score: 12 }, 10],
      ["a score of 0 alone", { score: 0, output: "It does not compile." }, 0],
      ["a negative score alone", { score: -3 }, 0],
      ["a score with tests that have none", { score: 8, tests: [{ name: "a", status: "failed" }, { name: "b" }] }, 8],
      ["a score that is the sum", { score: 1, tests: [{ name: "a", score: 1, max_score: 4 }] }, 2.5],
      ["a score below the sum", { score: 2, tests: [{ name: "a", score: 4, max_score: 4 }] }, 5],
      ["a score above the sum", { score: 3, tests: [{ name: "a", score: 1, max_score: 4 }] }, 7.5],
      ["a score above all maxima", { score: 9, tests: [{ name: "a", score: 1, max_score: 4 }] }, 9],
      [
        "extra credit makes up for a failure",
        { tests: [passed, { name: "b", max_score: 2, score: 0 }, { name: "x", score: 1, max_score: 0 }] },
        7.5,
      ],
      ["extra credit ends at the maximum", { tests: [{ name: "a", score: 9, max_score: 4 }] }, 10],
      ["a negative score takes points off", { tests: [passed, { name: "late", score: -1, max_score: 0 }] }, 5],
      [
        "only informational tests count alike",
        { tests: [{ name: "a", status: "passed" }, { name: "b", status: "failed" }, { name: "log" }] },
        5,
      ],
      [
        "a third is a third",
        {
          tests: [
            { name: "a", score: 1 / 3, max_score: 1 },
            { name: "b", score: 2 / 3, max_score: 1 },
          ],
        },
        5,
      ],
    ])("case: %s", (_, value, points) => {
      expect(grade(value)).toMatchObject({ outcome: { is: "graded" }, total: points });
    });

    it("tells the teacher when the score replaces the sum", () => {
      expect(grade({ score: 2, tests: [{ name: "a", score: 4, max_score: 4 }] }).criteria).toMatchObject([
        { notes: ["The autograder gives a score of 2 of 4, which replaces the sum of its tests (4)."] },
      ]);
      const { notes } = testsOfGradescope(read({ score: 2, tests: [{ name: "a", score: 4, max_score: 4 }] }));
      expect(notes).toEqual(["The score is 2, but its tests add up to 4. As in Gradescope, the score counts."]);
    });

    it("tells the teacher which test has a score and no max_score", () => {
      const { notes } = testsOfGradescope(read({ tests: [{ name: "a", score: 3 }, passed] }));
      expect(notes).toEqual(["a: no max_score, so its score of 3 counts in points of the rubric"]);
    });

    const two = ["a", "b"].map((name) => ({ ...one, id: name, source: { is: "tests" as const, patterns: [name] } }));
    const both = [passed, { name: "b", score: 1, max_score: 2 }];

    it("asks for a human decision when a different total score cannot be divided among criteria", () => {
      expect(grade({ tests: both, score: 3 }, two)).toMatchObject({ outcome: { is: "graded" }, total: 15 });
      expect(grade({ tests: both, score: 2 }, two)).toMatchObject({ outcome: { is: "needs human" }, points: 15 });
      expect(grade({ score: 2 }, two)).toMatchObject({ outcome: { is: "needs human" }, points: null });
    });

    it("asks for a human decision when no test reports whether it passed", () => {
      expect(grade({ tests: [{ name: "a", output: "?" }] }).outcome.is).toBe("needs human");
    });

    it("keeps results unchanged when they are stored and read again", () => {
      for (const value of [{ score: 8 }, { tests: both, score: 2 }, { tests: [{ name: "a" }, { score: 1 }] }]) {
        const results = { is: "read" as const, ...testsOfGradescope(read(value)) };
        expect(storedResults(JSON.stringify(results))).toEqual(results);
      }
    });

    it("does not give the total score to a criterion that is regraded alone", () => {
      const tests = { is: "read" as const, ...testsOfGradescope(read({ score: 2, tests: both })) };
      const standing = gradeWork({ criteria: two }, { tests, verdicts: null });
      expect(regradeCriterion({ criteria: two }, standing, "a", { tests, verdicts: null }).points).toBe(15);
    });
  });

  it("shows students only the tests that are visible now", () => {
    const shown = (afterDueDate: boolean, published: boolean) =>
      (["visible", "hidden", "after_due_date", "after_published"] as const).filter((visibility) =>
        isVisible(visibility, { afterDueDate, published }),
      );
    expect(shown(false, false)).toEqual(["visible"]);
    expect(shown(true, false)).toEqual(["visible", "after_due_date"]);
    expect(shown(true, true)).toEqual(["visible", "after_due_date", "after_published"]);
  });
});
