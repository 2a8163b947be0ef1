import type { Condition, Operand } from "@markmill/engine";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { formatCheck } from "./format-check.ts";
import { parseCheck } from "./parse-check.ts";

function read(text: string, lenient = false): Condition {
  const parsed = parseCheck(text, lenient);
  if (!parsed.ok) throw new Error(`${parsed.code} at ${parsed.offset}: ${parsed.message}`);
  return parsed.condition;
}
function refused(text: string): [string, number] {
  const parsed = parseCheck(text, false);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.condition)}`);
  expect(parsed.fix).not.toBe("");
  return [parsed.code, parsed.offset];
}
const name = (text: string): Operand => ({ from: "name", name: text });
const literal = (text: string): Operand => ({ from: "literal", text });
const RESULT = name("RESULT");

describe("operators of a CHECK", () => {
  it.each([
    ["equals", ["==", "eq", "EQ", "equals", "EQUALS", "Equals"]],
    ["differs", ["!=", "ne", "NE", "differs", "DIFFERS", "<>"]],
    ["contains", ["contains", "CONTAINS"]],
    ["matches", ["matches", "MATCHES"]],
    ["greater", [">", "gt", "GT", "greater", "GREATER"]],
    ["greaterEqual", [">=", "ge", "GE", "greater_equal", "GREATER_EQUAL"]],
    ["less", ["<", "lt", "LT", "less", "LESS"]],
    ["lessEqual", ["<=", "le", "LE", "less_equal", "LESS_EQUAL"]],
  ])("reads all spellings of %s", (op, spellings) => {
    for (const spelling of spellings)
      expect(read(`RESULT ${spelling} 'x'`), spelling).toEqual({ op, left: RESULT, right: literal("x") });
  });

  it("signs need no space around them, and words may have any white space around them", () => {
    expect(read("SCORE>=5")).toEqual({ op: "greaterEqual", left: name("SCORE"), right: literal("5") });
    expect(read("RESULT=='X'")).toEqual({ op: "equals", left: RESULT, right: literal("X") });
    expect(read(" \t RESULT  \n eq \u00a0 X ")).toEqual({ op: "equals", left: RESULT, right: name("X") });
  });

  it("reads IN, IS EMPTY, and a NOT before them", () => {
    expect(read("GRADE in ('A', B , 1)")).toEqual({
      op: "in",
      left: name("GRADE"),
      of: [literal("A"), name("B"), literal("1")],
    });
    expect(read("RESULT is empty")).toEqual({ op: "empty", left: RESULT });
    expect(read("RESULT IS NOT EMPTY")).toEqual({ op: "not", of: { op: "empty", left: RESULT } });
    expect(read("RESULT not contains 'x'")).toEqual({
      op: "not",
      of: { op: "contains", left: RESULT, right: literal("x") },
    });
    expect(read("GRADE NOT IN ('F')")).toEqual({
      op: "not",
      of: { op: "in", left: name("GRADE"), of: [literal("F")] },
    });
  });

  it("the lenient option marks only comparisons of verdicts", () => {
    expect(read("A == 'x' and B contains 'y'", true)).toEqual({
      op: "and",
      of: [
        { op: "equals", left: name("A"), right: literal("x"), lenient: true },
        { op: "contains", left: name("B"), right: literal("y") },
      ],
    });
  });
});

describe("sides of a comparison", () => {
  it("both sides may be quoted, with single or double quotes, and a doubled quote inside means one quote", () => {
    expect(read(`'two words' == "it's"`)).toEqual({ op: "equals", left: literal("two words"), right: literal("it's") });
    expect(read("RESULT == 'it''s'")).toEqual({ op: "equals", left: RESULT, right: literal("it's") });
    expect(read("RESULT == ''")).toEqual({ op: "equals", left: RESULT, right: literal("") });
  });

  it("unquoted words on the right continue to the end", () => {
    expect(read("RESULT == NOT DONE YET")).toEqual({ op: "equals", left: RESULT, right: name("NOT DONE YET") });
    expect(read("RESULT == don't stop")).toEqual({ op: "equals", left: RESULT, right: literal("don't stop") });
    expect(read("RESULT CONTAINS Score: 5 (of 10)")).toMatchObject({ right: literal("Score: 5 (of 10)") });
    expect(read("RESULT == a<b")).toMatchObject({ right: literal("a<b") });
  });

  it("and / or among unquoted words join conditions only if a whole condition follows", () => {
    expect(read("RESULT == SALT AND PEPPER")).toMatchObject({ right: name("SALT AND PEPPER") });
    expect(read("RESULT == this or that and SCORE > 5")).toEqual({
      op: "and",
      of: [
        { op: "equals", left: RESULT, right: name("this or that") },
        { op: "greater", left: name("SCORE"), right: literal("5") },
      ],
    });
    expect(read("RESULT == all is well and good")).toMatchObject({ right: name("all is well and good") });
    expect(read("RESULT == A and not (B == C)")).toMatchObject({
      op: "and",
      of: [{ right: name("A") }, { op: "not" }],
    });
  });

  it("either side may be a file", () => {
    expect(read("file:out.txt == file:expected.txt")).toEqual({
      op: "equals",
      left: { from: "file", path: "out.txt" },
      right: { from: "file", path: "expected.txt" },
    });
  });
});

describe("chains of conditions", () => {
  it("and binds stronger than or, brackets bind strongest, and the structure is kept", () => {
    const [a, b, c] = ["A", "B", "C"].map((side) => ({ op: "equals", left: name(side), right: literal("1") }));
    expect(read("A == 1 or B == 1 and C == 1")).toEqual({ op: "or", of: [a, { op: "and", of: [b, c] }] });
    expect(read("(A == 1 or B == 1) and C == 1")).toEqual({ op: "and", of: [{ op: "or", of: [a, b] }, c] });
    expect(read("A == 1 and (B == 1 and C == 1)")).toEqual({ op: "and", of: [a, { op: "and", of: [b, c] }] });
    expect(read("not not A == 1")).toEqual({ op: "not", of: { op: "not", of: a } });
  });
});

describe("refused expressions, with the place inside the text", () => {
  it.each([
    ["", "CHECK_EMPTY", 0],
    ["RESULT", "CHECK_SYNTAX", 6],
    ["RESULT = 'x'", "CHECK_OPERATOR", 7],
    ["RESULT like x", "CHECK_OPERATOR", 7],
    ["User Text == x", "CHECK_OPERATOR", 5],
    ["RESULT ==", "CHECK_SYNTAX", 9],
    ["== x", "CHECK_SYNTAX", 0],
    ["RESULT == 'x", "CHECK_QUOTE", 10],
    ["RESULT == 'x' y", "CHECK_SYNTAX", 14],
    ["(RESULT == 'x'", "CHECK_SYNTAX", 0],
    ["RESULT IN ('a'", "CHECK_SYNTAX", 14],
    ["RESULT IN (,)", "CHECK_SYNTAX", 11],
    ["RESULT MATCHES '(a)\\1'", "CHECK_PATTERN", 19],
    ["RESULT MATCHES '(?<=a)b'", "CHECK_PATTERN", 16],
    ["RESULT MATCHES *", "CHECK_PATTERN", 15],
    [`${"(".repeat(51)}A == 'x'`, "CHECK_DEPTH", 50],
  ])("refuses %j", (text, code, offset) => {
    expect(refused(text)).toEqual([code, offset]);
  });
});

const words = fc.constantFrom("RESULT", "SCORE", "X_1", "ünïcode", "a.b", "x-y");
const texts = fc.string({
  unit: fc.constantFrom("a", "B", "1", " ", "'", '"', "(", ")", ",", "=", "and", "or", "\n", "ß", "<"),
});
const left = fc.oneof(words.map(name), texts.map(literal));
const right = fc.oneof(left, fc.constantFrom("NOT DONE", "A and B", "this or that").map(name));
const conditions = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      op: fc.constantFrom("equals", "differs", "contains", "greater", "greaterEqual", "less", "lessEqual"),
      left,
      right,
    }) as fc.Arbitrary<Condition>,
    fc.record({ op: fc.constant("empty" as const), left }),
    fc.record({ op: fc.constant("in" as const), left, of: fc.array(left, { minLength: 1, maxLength: 3 }) }),
    fc.record({ op: fc.constant("not" as const), of: tie("condition") }),
    fc.record({
      op: fc.constantFrom("and" as const, "or" as const),
      of: fc.array(tie("condition"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).condition;

describe("formatCheck", () => {
  it("writes text that parseCheck reads back as the same condition", () => {
    fc.assert(
      fc.property(conditions, (condition) => {
        expect(read(formatCheck(condition))).toEqual(condition);
      }),
      { numRuns: inject("thorough") ? 3000 : 300 },
    );
  });
});

describe("robustness of parseCheck", () => {
  it("never throws, for any text", () => {
    const noise = fc.string({
      unit: fc.constantFrom(
        "a",
        " ",
        "'",
        '"',
        "(",
        ")",
        ",",
        "=",
        "<",
        "!",
        "not ",
        "and ",
        "or ",
        "in ",
        "is ",
        "empty ",
        "matches ",
        "\\",
        "[",
        "é",
      ),
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ unit: "binary" })), (text) => {
        const parsed = parseCheck(text, true);
        if (!parsed.ok) expect(parsed.offset).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: inject("thorough") ? 3000 : 300 },
    );
  });
});
