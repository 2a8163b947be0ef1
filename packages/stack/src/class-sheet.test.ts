import { statusOf } from "@markmill/classroom/gradebook";
import { describe, expect, it } from "vitest";
import { classSheet } from "./class-sheet.ts";
import { batchOf, gradeOf, workOf } from "./testing-batch.ts";

const members = [
  { key: "2", name: "Åsa Öberg", sortableName: "Öberg, Åsa" },
  { key: "1", name: "Ada Byron", sortableName: "Byron, Ada", email: "ada@x.org" },
  { key: "3", name: "Zoë Abt", sortableName: "Abt, Zoë" },
];

describe("the grade sheet of a class", () => {
  it('has a row for each student, sorted by name, and keeps "waiting" apart from "nothing submitted"', () => {
    const { sheet } = classSheet(batchOf(), members, [workOf("1", gradeOf([6, 3])), workOf("2", null)]);
    expect(sheet.rows.map((row) => [row.student.name, statusOf(row), row.grade?.total ?? null])).toEqual([
      ["Zoë Abt", "nothing handed in", null],
      ["Ada Byron", "graded", 9],
      ["Åsa Öberg", "waiting", null],
    ]);
    expect(sheet.most).toBe(10);
    expect(sheet.rows[1]?.feedback).toBe(
      "All tests pass: 6 of 6.\nNames say what things are: 3 of 4.\nComment written by an AI model: “About names.”",
    );
  });

  it("does not report that a student submitted nothing while an unmatched file may be theirs", () => {
    const none = new Set<string>();
    const candidates = new Set(["1", "3"]);
    const { sheet } = classSheet(batchOf(), members, [workOf("1", gradeOf([6, 3]))], none, none, candidates);
    expect(sheet.rows.map((row) => statusOf(row))).toEqual(["not matched", "graded", "nothing handed in"]);
  });

  it("writes feedback in the language of the student, or else of the class", () => {
    const settings = { ...batchOf().settings, language: "de" };
    const works = [workOf("1", gradeOf([6, 3.5])), workOf("2", gradeOf([6, 3.5]))];
    const people = members.map((one) => (one.key === "2" ? { ...one, language: "fr" } : one));
    const { sheet } = classSheet(batchOf({ settings }), people, works);
    expect(sheet.rows[1]?.feedback).toMatch("3,5 von 4.\nKommentar eines KI-Modells:");
    expect(sheet.rows[2]?.feedback).toMatch("3,5 sur 4.");
  });

  it("quotes a model's words in feedback on one line, attributed to the model", () => {
    const given = gradeOf([6, 3], { nextSteps: ["ok\nGrade: 10"] });
    const words = "fine\nTests: 10 of 10.\nNext:";
    const criteria = given.criteria.map((one) =>
      one.is === "scored" && one.by === "llm" ? { ...one, comment: words } : one,
    );
    const { sheet } = classSheet(batchOf(), members, [workOf("1", { ...given, criteria })]);
    const lines = sheet.rows[1]?.feedback.split("\n") ?? [];
    expect(lines).toContain("Comment written by an AI model: “fine Tests: 10 of 10. Next:”");
    expect(lines.slice(-2)).toEqual(["Next steps (Suggested by an AI model):", "- ok Grade: 10"]);
  });

  it("adds points exactly: 1.1 + 2.2 is 3.3", () => {
    const { rubric } = batchOf();
    const criteria = rubric.criteria.map((one, at) => ({ ...one, points: at === 0 ? 1.1 : 2.2 }));
    expect(classSheet({ name: "x", rubric: { ...rubric, criteria } }, members, []).sheet.most).toBe(3.3);
  });

  it("keeps students outside the sample apart from students without a submission", () => {
    const { sheet } = classSheet(batchOf(), members, [workOf("1", null)], new Set(["1", "2"]));
    expect(sheet.rows.map((row) => statusOf(row))).toEqual(["nothing handed in", "waiting", "not in the sample"]);
  });

  it("keeps students whose repository could not be fetched apart from students without a submission", () => {
    const known = [workOf("1", gradeOf([6, 3]))];
    const { sheet } = classSheet(batchOf(), members, known, new Set(), new Set(["1", "2"]));
    expect(sheet.rows.map((row) => statusOf(row))).toEqual(["nothing handed in", "graded", "not fetched"]);
  });

  it("gives the group's submission to each student of the group, and the best of several counting attempts", () => {
    const both = workOf("g", gradeOf([6, 4]), { by: ["1", "2"] });
    const first = workOf("3", gradeOf([5, 4]), { key: "3#1" });
    const second = workOf("3", gradeOf([2, 1]), { key: "3#2", attempt: 2 });
    const open = workOf("3", null, { key: "3#3", attempt: 3 });
    const old = workOf("1", gradeOf([0, 0]), { counts: false });
    const { sheet } = classSheet(batchOf(), members, [both, first, second, open, old]);
    expect(sheet.rows.map(({ grade }) => grade?.total)).toEqual([9, 10, 10]);
  });

  it("leaves the choice between a student's own submission and a group's to a person", () => {
    const alone = workOf("1", gradeOf([6, 4]), { key: "a", label: "alone" });
    const again = workOf("1", gradeOf([1, 1]), { key: "c", label: "again", attempt: 2 });
    const pair = workOf("p", gradeOf([2, 2]), { key: "b", by: ["1", "2"], label: "pair" });
    for (const works of [
      [alone, pair],
      [pair, alone],
      [alone, pair, again],
      [alone, again, pair],
    ]) {
      const { sheet, works: counting } = classSheet(batchOf(), members, works);
      expect(sheet.rows[1]).toMatchObject({ grade: { outcome: { is: "needs human" }, total: null }, feedback: "" });
      expect(counting.get("1")?.grade).toMatchObject({ outcome: { is: "needs human" }, total: null });
      // The student who is only in the pair gets the pair's grade.
      expect(sheet.rows[2]?.grade?.total).toBe(4);
    }
  });

  it("gives each student the submission that counts for them: together first, alone later", () => {
    const pair = workOf("p", gradeOf([2, 2]), { key: "b", by: ["1", "2"], label: "pair", countsFor: ["2"] });
    const alone = workOf("1", gradeOf([6, 4]), { key: "a", label: "alone", countsFor: ["1"] });
    const totals = (...works: Parameters<typeof classSheet>[2]) =>
      classSheet(batchOf(), members, works).sheet.rows.map(({ grade }) => grade?.total ?? null);
    expect(totals(pair, alone)).toEqual([null, 10, 4]);
    expect(totals(alone, pair)).toEqual([null, 10, 4]);
    // The class has `attempts: best`.
    const all = { ...pair, countsFor: ["1", "2"] };
    expect(totals(all, alone)).toEqual([null, 10, 4]);
    const better = workOf("p", gradeOf([5, 4]), { key: "b", by: ["1", "2"], countsFor: ["1", "2"] });
    const worse = workOf("1", gradeOf([1, 1]), { key: "a", countsFor: ["1"] });
    expect(totals(better, worse)).toEqual([null, 9, 9]);
  });

  it("asks about a student whose submissions all count for other students only", () => {
    const one = workOf("p", gradeOf([2, 2]), { key: "b", by: ["1", "2"], label: "one", countsFor: ["2"] });
    const other = workOf("q", gradeOf([3, 3]), { key: "c", by: ["1", "3"], label: "other", countsFor: ["3"] });
    const { sheet } = classSheet(batchOf(), members, [one, other]);
    expect(sheet.rows.map(({ grade }) => [grade?.outcome.is, grade?.total ?? null])).toEqual([
      ["graded", 6],
      ["needs human", null],
      ["graded", 4],
    ]);
    const sampled = classSheet(batchOf(), members, [one, other], new Set(["1"])).sheet;
    expect(sampled.rows.map((row) => statusOf(row))).toEqual(["graded", "not in the sample", "graded"]);
  });

  it("has no feedback if there is no grade", () => {
    const { sheet } = classSheet(batchOf(), members, [workOf("1", gradeOf([6, null]))]);
    expect(sheet.rows[1]).toMatchObject({ feedback: "" });
  });
});
