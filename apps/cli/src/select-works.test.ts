import { gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { readConditions, requireKnown, selects } from "./select-works.ts";

const flags = [{ kind: "injection", message: "m" }] as const;
const works = [
  workOf("full", gradeOf([6, 4])),
  workOf("half", gradeOf([2, 3]), { lateness: { is: "late", byMs: 1 } }),
  workOf("open", gradeOf([6, null], { flags })),
  workOf("none", null),
];
const chosen = (...where: string[]) =>
  works.filter((work) => selects(readConditions(where), work, "h")).map(({ by }) => by[0]);

describe("the option --where", () => {
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
  ])("with %j selects %j", (where, keys) => expect(chosen(...where)).toEqual(keys));

  it.each([
    ["late=ja", "yes, no"],
    ["late!=nein", "yes, no"],
    ["released=maybe", "yes, no"],
    ["outcome=greded", "graded, ungradable, grader-error, needs-human, waiting"],
    ["outcome=grader", "grader-error"],
    ["flag=injektion", "injection"],
    ["rubric=alt", "old, new"],
    ["total<1e1", "2.5"],
    ["total<0x10", "2.5"],
    ["points>=Infinity", "2.5"],
    ["criterion.tests=", "--where"],
  ])("refuses %s, and the message lists the valid values", (text, values) => {
    expect(() => readConditions([text])).toThrow(values);
  });

  it.each([
    [["late=TRUE"], ["half"]],
    [["late=n"], ["full", "open", "none"]],
    [["rubric!=CURRENT"], ["full", "half", "open", "none"]],
  ])("with the alternative spelling %j selects %j", (where, keys) => expect(chosen(...where)).toEqual(keys));

  it.each(["criterion.tets<3", "student=nobody"])(
    "refuses %s if the class has no such student or criterion",
    (text) => {
      expect(() => requireKnown(readConditions([text]), works)).toThrow("--where");
    },
  );

  it("accepts students and criteria of the class", () => {
    expect(requireKnown(readConditions(["student=FULL", "criterion.tests<3"]), works)).toBeUndefined();
  });

  it.each(["nothing", "size=3", "total<x", "outcome<graded"])("refuses %s", (text) => {
    expect(() => readConditions([text])).toThrow("--where");
  });
});
