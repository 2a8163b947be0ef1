import type { GradeEvent } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import { expect, it } from "vitest";
import { draftSheet } from "./draft-sheet.ts";

it("the feedback of an unreleased grade begins with DRAFT, and that of a released grade does not", () => {
  const members = ["ada", "bob"].map((key) => ({ key, name: key }));
  const released: GradeEvent = {
    id: 1,
    work: "ada#1",
    at: "2026-01-01T00:00:00.000Z",
    by: "prof",
    kind: "released",
    criterion: null,
    from: null,
    to: 9,
    reason: "",
    comment: "",
    rubricHash: "r",
    content: "c",
    try: 1,
    takesBack: null,
  };
  const works = [workOf("ada", gradeOf([6, 3]), {}, [released]), workOf("bob", gradeOf([4, 4]))];
  const sheet = draftSheet(classSheet(batchOf(), members, works).sheet);
  expect(sheet.draft).toBe(true);
  expect(sheet.rows.map(({ feedback }) => feedback.startsWith("DRAFT"))).toEqual([false, true]);
  expect(sheet.rows[1]?.feedback).toMatch("All tests pass: 4 of 6.");
});
