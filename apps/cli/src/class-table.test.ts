import type { GradeSheet } from "@markmill/gradebook";
import { describe, expect, it } from "vitest";
import { classTable } from "./class-table.ts";
import { textWidth } from "./fit-width.ts";

const criteria = ["to", "from", "errors", "names", "structure"].map((id) => ({ id, title: id, points: 2 }));
const grade = (outcome: "graded" | "needs human", points: number, flags = 0) => ({
  outcome: outcome === "graded" ? { is: outcome } : { is: outcome, why: ["x"] },
  criteria: criteria.map(({ id }) => ({
    ...{ is: "scored" as const, id, by: "llm" as const, points: 1.5, level: null, comment: "", evidence: [] },
    ...{ confidence: null, tests: [], notes: [] },
  })),
  ...{ points, most: 10, penalty: null, total: outcome === "graded" ? points : null, nextSteps: [] },
  flags: Array.from({ length: flags }, () => ({ kind: "injection" as const, message: "m" })),
});
const sheet: GradeSheet = {
  ...{ title: "t", most: 10, criteria },
  rows: [
    { student: { key: "1", name: "李雷" }, grade: grade("graded", 9.5), feedback: "" },
    {
      student: { key: "2", name: "A very long name of somebody who has many" },
      grade: grade("needs human", 7.5, 2),
      feedback: "",
    },
    { student: { key: "3", name: "Eve\u001b[31m\u202e" }, grade: null, feedback: "" },
  ],
};

describe("the table of a class", () => {
  it.each([40, 60, 80, 120])("fits into %i columns", (columns) => {
    for (const line of classTable(sheet, columns)) expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });

  it("has totals under each other, proposals in brackets, flags, and no number where there is none", () => {
    expect(classTable(sheet, 80)).toEqual([
      "student                     status             of 10   to  from  errors",
      "李雷                        graded               9.5  1.5   1.5     1.5",
      "A very long name of someb…  needs human        (7.5)  1.5   1.5     1.5  ⚑2",
      "Eve[31m                     nothing handed in      –    –     –       –",
    ]);
  });
});
