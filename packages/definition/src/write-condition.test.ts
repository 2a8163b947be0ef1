import type { Condition } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { parseCheck } from "./dialects/codementor/expression/parse-check.ts";
import { describeCondition } from "./write-condition.ts";

describe("a condition as text for people", () => {
  it.each(["RESULT == 'x'", "not (A IS EMPTY) or (B > '5' and C IN ('x', y))", "RESULT CONTAINS file:a.txt"])(
    "%s is written unchanged",
    (text) => {
      const parsed = parseCheck(text, false);
      if (!parsed.ok) throw new Error(parsed.message);
      expect(describeCondition(parsed.condition)).toBe(text);
    },
  );

  it.each<[Condition, string]>([
    [{ op: "hits", node: "PROMPT_A", is: "less", count: 3 }, "hits of PROMPT_A < 3"],
    [
      { op: "is", left: { from: "read", name: "draft" }, right: { from: "template", text: "{{A}}" } },
      "draft IS '{{A}}'",
    ],
    [
      { op: "isNot", left: { from: "size", list: "inbox" }, right: { from: "literal", text: "0" } },
      "size inbox IS NOT '0'",
    ],
  ])("conditions of other dialects are written, too: %#", (condition, text) => {
    expect(describeCondition(condition)).toBe(text);
  });
});
