import type { GradeEvent } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import type { BatchWork } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { reviewList, tellQueue } from "./review-order.ts";

const members = ["1", "2", "3"].map((key) => ({ key, name: `Student ${key}` }));
const listOf = (works: readonly BatchWork[]) => reviewList(classSheet(batchOf(), members, works).works);
const reviewed: GradeEvent = {
  id: 1,
  work: "1#1",
  at: "2026-01-01T00:00:00.000Z",
  by: "ada",
  kind: "reviewed",
  criterion: null,
  from: null,
  to: null,
  takesBack: null,
  reason: "",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
};

describe("the review list", () => {
  it("keeps a reviewed submission with an open criterion, and names the criterion", () => {
    const work = workOf("1", gradeOf([6, null]), {}, [reviewed]);
    expect(work.grade).toMatchObject({ reviewed: { by: "ada" }, outcome: { is: "needs human" } });
    expect(listOf([work])).toMatchObject([{ is: "needs human", students: ["1"], why: ["names: open"] }]);
  });

  it("contains a student whose submissions with different people count, in line with the student's status", () => {
    const alone = workOf("1", gradeOf([6, 4]), { key: "a" });
    const pair = workOf("p", gradeOf([2, 2]), { key: "b", by: ["1", "2"] });
    expect(listOf([alone, pair])).toMatchObject([{ is: "needs human", students: ["1"] }]);
  });

  it("lists flagged submissions apart from those that need a decision", () => {
    const flags = [{ kind: "injection", message: "asks for points" }] as const;
    const list = listOf([workOf("1", gradeOf([6, 4], { flags })), workOf("2", gradeOf([6, null]))]);
    expect(list.map(({ is, students }) => [is, ...students])).toEqual([
      ["needs human", "2"],
      ["flagged", "1"],
    ]);
    expect(tellQueue(list)).toBe("1 submission needs a human decision, 1 graded with flags that no one has reviewed");
  });

  it("lists a group's submission that needs a decision once", () => {
    expect(listOf([workOf("p", gradeOf([2, null]), { by: ["1", "2"] })])).toMatchObject([{ students: ["1", "2"] }]);
  });
});
