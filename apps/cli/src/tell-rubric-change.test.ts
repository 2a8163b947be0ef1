import { expect, it } from "vitest";
import { tellRubricChange } from "./tell-rubric-change.ts";

it("a changed rubric is reported with the number of voided proposals, marks and releases", () => {
  const change = {
    changed: ["names"],
    added: [],
    removed: ["style"],
    proposals: 1,
    doubtful: 1,
    gone: 2,
    releases: 1,
    criteria: [],
    seen: "",
  };
  expect(tellRubricChange(change)).toEqual([
    "! the rubric of this class has changed (changed: names; removed: style)",
    "!   1 proposal without points for names: a person or 'markmill regrade' must grade it",
    "!   1 mark by people for names: to be reviewed again",
    "!   2 marks by people for style: no longer counted",
    "!   1 released grade no longer valid: to be released again",
    "!   marks of all other criteria are kept",
  ]);
});
