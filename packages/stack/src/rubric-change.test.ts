import type { GradeEvent, Rubric } from "@markmill/grading";
import { gradeOf, rubric, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { rubricChange, tellRubricChange, voidsSomething } from "./rubric-change.ts";

const [tests, names] = rubric.criteria;
if (tests === undefined || names === undefined) throw new Error("the rubric has two criteria");
const said: GradeEvent = {
  ...{ id: 1, work: "1#1", at: "2026-01-01T00:00:00.000Z", by: "ada", kind: "override", criterion: "names", from: 3 },
  ...{ to: 2, takesBack: null, reason: "so", comment: "", rubricHash: "r", content: "c", try: 1 },
};
const released: GradeEvent = { ...said, id: 2, kind: "released", criterion: null, to: 8 };
const works = [
  workOf("1", gradeOf([6, 3]), {}, [said, released]),
  workOf("2", gradeOf([6, 3])),
  workOf("3", null),
  workOf("4", gradeOf([1, 1]), { counts: false }),
];
const change = (criteria: Rubric["criteria"]) => rubricChange(rubric, { criteria }, works);

describe("a rubric that changed after the class was graded", () => {
  it("only in the order of its rows changes nothing", () => {
    expect(change([names, tests])).toBeNull();
  });

  it("in one criterion costs the proposals, marks and releases that rest on it", () => {
    const found = change([tests, { ...names, guidance: "be strict" }]);
    expect(found).toEqual({
      ...{ changed: ["names"], added: [], removed: [], proposals: 1, doubtful: 1, gone: 0, releases: 1 },
    });
    expect(found === null ? [] : tellRubricChange(found)).toEqual([
      "! the rubric of this class has changed (changed: names)",
      "!   1 proposal without points for names: a person marks that, or 'markmill regrade' grades it",
      "!   1 mark of people for names: to be reviewed again",
      "!   1 released grade no longer valid: to be released again",
      "!   marks of all other criteria stand",
    ]);
  });

  it("by a new and a removed criterion costs every proposal", () => {
    expect(change([tests, { ...names, id: "style" }])).toMatchObject({
      ...{ changed: [], added: ["style"], removed: ["names"], proposals: 2, doubtful: 0, gone: 1, releases: 1 },
    });
  });

  it("of a class in which nothing is graded yet costs nothing", () => {
    const found = rubricChange(rubric, { criteria: [tests] }, [workOf("1", null)]);
    expect(found === null || voidsSomething(found)).toBe(false);
  });
});
