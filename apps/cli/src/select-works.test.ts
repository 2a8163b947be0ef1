import { gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { readConditions, selects } from "./select-works.ts";

const flags = [{ kind: "injection", message: "m" }] as const;
const works = [
  workOf("full", gradeOf([6, 4])),
  workOf("half", gradeOf([2, 3]), { lateness: { is: "late", byMs: 1 } }),
  workOf("open", gradeOf([6, null], { flags })),
  workOf("none", null),
];
const chosen = (...where: string[]) =>
  works.filter((work) => selects(readConditions(where), work, "h")).map(({ by }) => by[0]);

describe("--where", () => {
  it.each([
    [["outcome=needs-human"], ["open"]],
    [["outcome=waiting"], ["none"]],
    [["outcome!=graded"], ["open", "none"]],
    [["total<6"], ["half"]],
    [["criterion.tests>=6"], ["full", "open"]],
    [["total<6", "late=yes"], ["half"]],
    [["total<6,late=no"], []],
    [["flag=injection"], ["open"]],
    [["flag=any"], ["open"]],
    [["student=FULL"], ["full"]],
    [["released=no"], ["full", "half", "open", "none"]],
    [[], ["full", "half", "open", "none"]],
  ])("%j means %j", (where, keys) => expect(chosen(...where)).toEqual(keys));

  it.each(["nothing", "size=3", "total<x", "outcome<graded"])("%s is refused", (text) => {
    expect(() => readConditions([text])).toThrow("--where");
  });
});
