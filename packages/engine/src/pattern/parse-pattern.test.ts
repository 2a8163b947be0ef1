import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { searchPattern } from "./match-pattern.ts";
import { parsePattern } from "./parse-pattern.ts";
import { patternBounds } from "./pattern.ts";

function refusal(source: string): string {
  const parsed = parsePattern(source);
  return parsed.ok ? "accepted" : `${parsed.offset}: ${parsed.message}`;
}

describe("parsePattern", () => {
  it.each([
    ["(a)\\1", 3, "Backreferences are not available"],
    ["(?P<n>a)(?P=n)", 8, "Backreferences are not available"],
    ["\\400", 0, "Backreferences are not available"],
    ["a(?=b)", 1, "Lookahead is not available"],
    ["a(?!b)", 1, "Lookahead is not available"],
    ["(?<=a)b", 0, "Lookbehind is not available"],
    ["(?<!a)b", 0, "Lookbehind is not available"],
    ["(?>a)", 0, "Atomic groups are not available"],
    ["(a)?(?(1)b|c)", 4, "Conditional groups are not available"],
    ["xa*+", 3, "Possessive repeats are not available"],
    ["a{1,2}+", 6, "Possessive repeats are not available"],
    ["a\\q", 1, "The escape \\q is unknown"],
    ["\\N{DIGIT ONE}", 0, "The escape \\N is unknown"],
    ["[\\B]", 1, "The escape \\B is unknown"],
    ["[\\8]", 1, "The escape \\8 is unknown"],
    ["[\\400]", 1, "An octal escape ends at \\377"],
    ["\\x4", 0, "After \\x stand 2 hexadecimal digits"],
    ["\\u12g4", 0, "After \\u stand 4 hexadecimal digits"],
    ["\\U00110000", 0, "Unicode ends at"],
    ["\\p{Klingon}", 0, "There is no such property"],
    ["\\pL", 0, "There is no such property"],
    ["\\p{L]\\p{L}", 0, "There is no such property"],
    ["ab\\", 2, "A backslash ends the pattern"],
    ["[z-a]", 1, "This range ends before it begins"],
    ["[x\\w-z]", 2, "A range goes from one character to another"],
    ["[a-\\d]", 1, "A range goes from one character to another"],
    ["x[a", 1, "This class is not closed"],
    ["[]", 0, "This class is not closed"],
    ["[^]", 0, "This class is not closed"],
    ["[a-", 0, "This class is not closed"],
    ["*a", 0, "There is nothing to repeat"],
    ["a|+", 2, "There is nothing to repeat"],
    ["(?)", 0, "This group is unknown"],
    ["{5}", 0, "There is nothing to repeat"],
    ["^*", 1, "There is nothing to repeat"],
    ["\\b+", 2, "There is nothing to repeat"],
    ["(?#note)*", 8, "There is nothing to repeat"],
    ["a**", 2, "This repeats what is repeated already"],
    ["a{2}{3}", 4, "This repeats what is repeated already"],
    ["(?x)a + ?", 8, "This repeats what is repeated already"],
    ["a{5,3}", 1, "The least number of repeats is greater than the most"],
    ["a{99999999999}", 1, "At most 20000 repeats can be counted"],
    ["a{1,20001}", 1, "At most 20000 repeats can be counted"],
    ["b(a", 1, "This group is not closed"],
    ["(?i:a", 0, "This group is not closed"],
    ["a)b", 1, "This parenthesis closes nothing"],
    ["a(?#b", 1, "This comment is not closed"],
    ["a(?i)b", 1, "Flags for the whole pattern stand at its start"],
    ["((?i)a)", 1, "Flags for the whole pattern stand at its start"],
    ["|(?i)a", 1, "Flags for the whole pattern stand at its start"],
    ["(?a)b", 2, "There is no flag a"],
    ["(?iL:b)", 3, "There is no flag L"],
    ["(?constructor)", 2, "There is no flag c"],
    ["(?i-i:x)", 3, "A flag is turned both on and off"],
    ["(?i-:x)", 0, "This group is unknown"],
    ["(?-i)x", 0, "This group is unknown"],
    ["(?", 0, "This group is unknown"],
    ["(?P!n)", 0, "This group is unknown"],
    ["(?P<1a>x)", 4, "The name of a group is made of"],
    ["(?<a b>x)", 3, "The name of a group is made of"],
    ["(?P<a", 4, "The name of this group is not closed"],
    ["(?P<a>x)(?P<a>y)", 12, "The group name a is taken"],
    ["😀(a", 2, "This group is not closed"],
  ])("refuses %s at %i: %s", (source, offset, message) => {
    expect(refusal(source)).toContain(`${offset}: ${message}`);
  });

  it("names the outermost repeat if the expanded counted repeats exceed the bound", () => {
    expect(refusal("x(?:(?:a{100}){100}){100}")).toContain("20: Counted repeats, written out, exceed 20000 steps");
    expect(refusal("(?:a|b){3,}(?:ab){10000}")).toContain("17: Counted repeats");
    expect(refusal("(?:ab){9999}")).toBe("accepted");
  });

  it("expands repeats of the empty text without work", () => {
    expect(refusal("(?:(?:(?:){20000}){20000}){20000}")).toBe("accepted");
  });

  it("bounds the source, groups and nesting", () => {
    expect(refusal("a".repeat(patternBounds.source))).toBe("accepted");
    expect(refusal("a".repeat(patternBounds.source + 1))).toContain("8000: The pattern is longer than 8000");
    expect(refusal("()".repeat(100))).toBe("accepted");
    expect(refusal("()".repeat(101))).toContain("200: There are more than 100 groups");
    expect(refusal(`${"(?:".repeat(200)}a${")".repeat(200)}`)).toBe("accepted");
    expect(refusal("(?:".repeat(201))).toContain("600: Groups are nested deeper than 200");
  });

  it.each(["|", "a*", "a*|", "a?", "(?:)", "(?:|)*", "[a]+", "^", "\\d*"])(
    "needs no bound on instructions for a source full of %s",
    (part) => {
      expect(refusal(part.repeat(Math.floor(patternBounds.source / part.length)))).toBe("accepted");
    },
  );

  it("returns plain data with the names of the groups in their order", () => {
    const parsed = parsePattern("(a)(?P<points>\\d+)/(?<most>\\d+)");
    expect(parsed).toMatchObject({ ok: true, pattern: { groupNames: [null, "points", "most"] } });
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(parsed);
  });

  it("finds the text with which every match begins", () => {
    expect(parsePattern("(SUC)CESS+!")).toMatchObject({ pattern: { prefix: "SUCCESS", anchored: false } });
    expect(parsePattern("(?:a|b)c")).toMatchObject({ pattern: { prefix: "" } });
    expect(parsePattern("a?b")).toMatchObject({ pattern: { prefix: "" } });
    expect(parsePattern("(?i)a")).toMatchObject({ pattern: { prefix: "" } });
    expect(parsePattern("\\ud83d")).toMatchObject({ pattern: { prefix: "" } });
    expect(parsePattern("(^a)")).toMatchObject({ pattern: { anchored: true } });
    expect(parsePattern("(?m)^a")).toMatchObject({ pattern: { anchored: false } });
    expect(parsePattern("^a|b")).toMatchObject({ pattern: { anchored: false } });
  });

  it("never throws, and reports offsets inside the source", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "(",
        ")",
        "(?",
        "(?P<",
        ">",
        "[",
        "]",
        "^",
        "-",
        "{",
        "}",
        ",",
        "\\",
        "|",
        "*",
        "+",
        "?",
        "(?i",
        ":",
      ),
      fc.constantFrom("a", "0", "1", "9", "p", "P", "x", "u", "U", "N", "d", "W", "b", "(?x)", "#", "\n", "\ud83d"),
      fc.string({ unit: "binary", maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.string({ unit: "binary" }), (pieces, text) => {
        const source = pieces.join("");
        const parsed = parsePattern(source);
        if (parsed.ok) expect(typeof searchPattern(parsed.pattern, text)).toBe("boolean");
        else expect(parsed.offset).toBeLessThanOrEqual(source.length);
      }),
      { numRuns: inject("thorough") ? 5_000 : 500 },
    );
  });
});
