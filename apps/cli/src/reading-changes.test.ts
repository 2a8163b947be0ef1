import type { GradeEvent } from "@markmill/grading";
import { gradeOf, workOf } from "@markmill/stack/testing-batch";
import type { BatchWork } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { readingChanges } from "./reading-changes.ts";

const said = (kind: GradeEvent["kind"], criterion: string | null, to: number): GradeEvent => ({
  id: 1,
  work: "ada#1",
  at: "2026-01-01T00:00:00.000Z",
  by: "Eva",
  kind,
  criterion,
  from: null,
  to,
  reason: "",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
  takesBack: null,
});
const names = new Map([
  ["ada", "Ada"],
  ["bob", "Bob"],
  ["eve", "Eve"],
]);
const changes = (stored: readonly BatchWork[], read: readonly BatchWork[], unfetched: readonly BatchWork[] = []) =>
  readingChanges(stored, read, unfetched, names);
const pair = { key: "ada+bob#1", by: ["ada", "bob"] };
const other = { ...workOf("ada", null).content, hash: "d" } as BatchWork["content"];

describe("readingChanges, for a new intake of a class", () => {
  it("is empty if no student gains or loses anything", () => {
    const works = [workOf("ada", gradeOf([6, 3])), workOf("bob", null)];
    expect(changes(works, works)).toEqual([]);
    expect(changes(works, [works[0] as BatchWork])).toEqual([]);
    expect(changes(works, [], works)).toEqual([]);
  });

  it("names a student without a submission now, with the released points", () => {
    const stored = [workOf("ada", gradeOf([6, 3]), {}, [said("released", null, 9)]), workOf("bob", gradeOf([1, 1]))];
    expect(changes(stored, [])).toEqual([
      "! Ada has no submission now; this grade no longer counts: 9 points, released",
      "! Bob has no submission now; this grade no longer counts: 2 points",
    ]);
  });

  it("names the students who left a graded submission and who joined it", () => {
    const stored = [workOf("ada", gradeOf([6, 3]), pair)];
    expect(changes(stored, [workOf("ada", null, { ...pair, by: ["bob", "eve"] })])).toEqual([
      "! Ada has no submission now; this grade no longer counts: 9 points",
      "! Eve joins the submission of Ada, Bob and gets its grade: 9 points",
    ]);
  });

  it("names people's marks that do not apply to the new content", () => {
    const stored = [workOf("ada", gradeOf([6, 3]), {}, [said("override", "names", 1)])];
    expect(changes(stored, [workOf("ada", null, { content: other })])).toEqual([
      "! Ada: the submission changed, so these marks by people no longer count: names 1 (Eva)",
    ]);
  });
});
