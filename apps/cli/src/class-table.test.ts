import type { GradeSheet } from "@markmill/classroom/gradebook";
import { describe, expect, it } from "vitest";
import { classTable, printClassTable } from "./class-table.ts";
import { textWidth } from "./fit-width.ts";

const criteria = ["to", "from", "errors", "names", "structure"].map((id) => ({ id, title: id, points: 2 }));
const grade = (outcome: "graded" | "needs human", points: number, flags = 0) => ({
  outcome: outcome === "graded" ? { is: outcome } : { is: outcome, why: ["x"] },
  criteria: criteria.map(({ id }) => ({
    is: "scored" as const,
    id,
    by: "llm" as const,
    points: 1.5,
    level: null,
    comment: "",
    evidence: [],
    confidence: null,
    tests: [],
    notes: [],
  })),
  points,
  most: 10,
  penalty: null,
  total: outcome === "graded" ? points : null,
  nextSteps: [],
  flags: Array.from({ length: flags }, () => ({ kind: "injection" as const, message: "m" })),
});
const sheet: GradeSheet = {
  title: "t",
  most: 10,
  criteria,
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

  it("aligns totals, puts proposals in brackets, shows flags, and shows no number if there is none", () => {
    expect(classTable(sheet, 80)).toEqual([
      "student           status             of 10   to  from  erro…  names  stru…",
      "李雷              graded               9.5  1.5   1.5    1.5    1.5    1.5",
      "A very long nam…  needs human        (7.5)  1.5   1.5    1.5    1.5    1.5  ⚑2",
      "Eve[31m           nothing handed in      –    –     –      –      –      –",
    ]);
  });

  it.each([30, 40, 50, 60, 70, 80, 100, 200])("shows or names every criterion at %i columns", (columns) => {
    const many = ["to", "from", "errors", "names", "structure", "comment", "style", "speed", "report", "tests"];
    const wide = { ...sheet, criteria: many.map((id) => ({ id, title: id, points: 1 })) };
    const [head = "", ...rest] = classTable(wide, columns);
    const heads = head.split(/ {2,}/).slice(3);
    const note = rest.slice(sheet.rows.length).join(" ");
    const named = /^Hidden columns: (.*)\. To show all columns: markmill status CLASS --wide$/.exec(note)?.[1];
    const hidden = named === undefined ? [] : named.split(", ");
    expect(heads.length + hidden.length).toBe(many.length);
    expect(many.slice(heads.length)).toEqual(hidden);
  });

  it("prints all columns if the output is piped, or with --wide", () => {
    const print = (shown: boolean, wide: boolean) => {
      const lines: string[] = [];
      printClassTable(sheet, { shown, columns: 40, out: (line) => void lines.push(line) }, wide);
      return lines.join("\n");
    };
    expect(print(true, false)).toMatch("Hidden columns");
    for (const text of [print(false, false), print(true, true)]) {
      expect(text).not.toMatch("Hidden columns");
      expect(text).toMatch("structure");
    }
  });
});
