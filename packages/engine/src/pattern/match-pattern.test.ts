import { describe, expect, inject, it } from "vitest";
import { automatonOf } from "./automaton.ts";
import { findPattern, searchPattern } from "./match-pattern.ts";
import { parsePattern } from "./parse-pattern.ts";
import type { Pattern } from "./pattern.ts";

function pattern(source: string): Pattern {
  const parsed = parsePattern(source);
  if (!parsed.ok) throw new Error(`${source}: ${parsed.message}`);
  return parsed.pattern;
}

/** The result of findPattern, checked against searchPattern. */
function found(source: string, text: string): string | null {
  const match = findPattern(pattern(source), text);
  expect(searchPattern(pattern(source), text)).toBe(match !== null);
  if (match !== null) expect(text.slice(match.start, match.end)).toBe(match.groups[0]);
  return match === null ? null : text.slice(match.start, match.end);
}

describe("findPattern", () => {
  it.each([
    // Unanchored patterns find the leftmost match.
    ["", "abc", ""],
    ["b", "abc", "b"],
    ["SUCCESS", "no SUCCES, but SUCCESS", "SUCCESS"],
    ["bc|abcd|a", "xabcd", "abcd"],
    ["a|ab", "ab", "a"],
    ["a||b", "b", ""],
    // Repeats.
    ["a*", "aab", "aa"],
    ["a+?", "aa", "a"],
    ["a??b", "aab", "ab"],
    ["a{2}", "aaa", "aa"],
    ["a{2,}", "aaaa", "aaaa"],
    ["a{2,3}", "aaaa", "aaa"],
    ["a{2,3}?", "aaaa", "aa"],
    ["a{0}b", "ab", "b"],
    ["<.+?>", "<b><i>", "<b>"],
    ["<.+>", "<b><i>", "<b><i>"],
    // Braces without a count are text.
    ["a{", "a{", "a{"],
    ["a{}", "a{}", "a{}"],
    ["a{ 2}", "aa{ 2}", "a{ 2}"],
    ["x{,2}y", "xxxy", "xxy"],
    ["x{,}y", "xxxy", "xxxy"],
    ["}{", "}{", "}{"],
    // A repeat of an item that can match the empty text stops at the empty text.
    ["(|a)*", "aa", ""],
    ["(|a)+", "aa", ""],
    ["(a*)*", "baa", ""],
    ["(a|b*)*", "bab", "bab"],
    ["(?:a??){2,}", "aaa", ""],
    ["(?:$|a)*", "aa", "aa"],
    ["(|a)*b", "aab", "aab"],
    ["(^)*a", "a", "a"],
    // Classes.
    ["[a-c]+", "xabcd", "abc"],
    ["[^a-c]+", "abcd\n", "d\n"],
    ["[]a]+", "a]", "a]"],
    ["[^]a]", "]ab", "b"],
    ["[a-]+", "a-b", "a-"],
    ["[--/]+", "-./0", "-./"],
    ["[a\\-z]+", "-az", "-az"],
    ["[[.]+", ".[", ".["],
    ["[\\b]", "a\b", "\b"],
    ["[\\d_]+", "a1_2", "1_2"],
    ["[^\\W\\d]+", "12ab_3", "ab_"],
    ["[\\S ]+", "\ta b\n", "a b"],
    ["[\\1\\x02]+", "\u0001\u0002", "\u0001\u0002"],
    // Escapes.
    ["\\x41\\u00e9\\U0001F600", "Aé😀", "Aé😀"],
    ["\\a\\f\\n\\r\\t\\v", "\u0007\f\n\r\t\v", "\u0007\f\n\r\t\v"],
    ["\\0\\01\\101", "\0\u0001A", "\0\u0001A"],
    ["\\.\\_\\-\\é", "._-é", "._-é"],
    // Unicode: word characters are letters and numbers of all scripts, not combining marks.
    ["\\w+", "-naïve_9-", "naïve_9"],
    ["\\w+", "Ελλάδα½Ⅷ東", "Ελλάδα½Ⅷ東"],
    ["\\w+", "e\u0301a", "e"],
    ["\\d+", "x٣४5²", "٣४5"],
    ["\\s+", "a\u001c\u0085\u00a0\u2003\u3000b", "\u001c\u0085\u00a0\u2003\u3000"],
    ["\\s", "\ufeff\u200b", null],
    ["\\S", "\u2028x", "x"],
    ["^.$", "😀", "😀"],
    ["[😀-😂]", "😁", "😁"],
    ["^..$", "\ud83da", "\ud83da"],
    ["\\ud83d", "😀", null],
    ["a.c", "a😀c", "a😀c"],
    ["\\p{Lu}\\P{Lu}", "xÉé", "Éé"],
    ["\\p{Script=Greek}+", "abγδ", "γδ"],
    ["[\\p{P}\\p{S}]+", "a+!b", "+!"],
    // Anchors.
    ["^b", "a\nb", null],
    ["a$", "a", "a"],
    ["a$", "a\n", "a"],
    ["a$", "a\n\n", null],
    ["a$", "a\nb", null],
    ["a\\n$", "a\n", "a\n"],
    ["\\n$", "a\n\n", "\n"],
    ["a\\Z", "a\n", null],
    ["a\\z", "ba", "a"],
    ["\\Aa", "ba", null],
    ["(?m)^b$", "a\nb\nc", "b"],
    ["(?m)\\Ab", "a\nb", null],
    ["(?m)a\\Z", "a\n", null],
    ["(?m)^$", "a\n", ""],
    ["(?m)^b", "a\rb", null],
    ["a.b", "a\nb", null],
    ["a.b", "a\rb", "a\rb"],
    ["(?s)a.b", "a\nb", "a\nb"],
    ["\\bcat\\b", "concat cat", "cat"],
    ["\\bé", "aé é", "é"],
    ["\\Bcat", "cat concat", "cat"],
    ["\\b", "", null],
    ["\\B", "", ""],
    ["(?m)^SUCCESS\\b", "The verdict:\nSUCCESS.\n", "SUCCESS"],
    ["(?m)^SUCCESS\\b", "The verdict: SUCCESS\nSUCCESSFUL\n", null],
    // Flags.
    ["(?i)success", "SuCCeſS", "SuCCeſS"],
    ["(?i)straße", "STRAẞE", "STRAẞE"],
    ["(?i)σ+", "Σςσ", "Σςσ"],
    ["(?i)[a-z]+", "ſKı", "ſKı"],
    ["(?i)[^k]", "kK\u212ax", "x"],
    ["(?i)\\p{Lu}+", "1aB", "aB"],
    ["(?i:a)b", "AB Ab", "Ab"],
    ["(?i)a(?-i:b)", "AB Ab", "Ab"],
    ["(?i)a|b", "B", "B"],
    ["(?s-i:.)a", "\nA\na", "\na"],
    ["(?im)^b$", "a\nB", "B"],
    ["(?i)(?m)^b", "a\nB", "B"],
    ["(?u)é", "é", "é"],
    ["(?x) a b # the rest is a note\n c + ", "abcc", "abcc"],
    ["(?x)[a b]\\ c", "  c", "  c"],
    ["(?x:a b)c d", "abc d", "abc d"],
    ["(?x) (?i) a", "A", "A"],
    ["a(?#twice){2}", "aa", "aa"],
  ])("searches for %j in %j and finds %j", (source, text, expected) => {
    expect(found(source, text)).toBe(expected);
  });

  it("returns the text of each group, and the last text of a repeated group", () => {
    const groups = (source: string, text: string) => findPattern(pattern(source), text)?.groups;
    expect(groups("(?P<points>\\d+)\\s*/\\s*(?<most>\\d+)", "Grade: 7 / 10")).toEqual(["7 / 10", "7", "10"]);
    expect(groups("(a)|(b)", "b")).toEqual(["b", null, "b"]);
    expect(groups("(?:(a)|(b))*", "ab")).toEqual(["ab", "a", "b"]);
    expect(groups("(\\w)+", "xyz")).toEqual(["xyz", "z"]);
    expect(groups("(a+)(a*)", "aaa")).toEqual(["aaa", "aaa", ""]);
    expect(groups("(a+?)(a*)", "aaa")).toEqual(["aaa", "a", "aa"]);
    expect(groups("((a)(b)?)+", "abа")).toEqual(["ab", "ab", "a", "b"]);
    expect(groups("(?:x(a)|xb)c", "xac xbc")).toEqual(["xac", "a"]);
    expect(groups("(a)b|a(c)", "ac")).toEqual(["ac", null, "c"]);
  });

  it("counts positions in UTF-16 units", () => {
    expect(findPattern(pattern("b"), "😀b")).toEqual({ start: 2, end: 3, groups: ["b"] });
  });

  it("gives the same result when texts are searched again, in any order", () => {
    const source = "(?m)^(\\w+)\\b.*x$";
    const texts = ["a x", "a x\n", "a y\nb x\nc", "\n", "", "😀 x", "é x", "a y"];
    const first = texts.map((text) => found(source, text));
    expect(first).toEqual(["a x", "a x", "b x", null, null, null, "é x", null]);
    expect([...texts].reverse().map((text) => found(source, text))).toEqual([...first].reverse());
  });
});

describe("the work of a search", () => {
  /** Instructions visited for one character, at most the number of instructions. Cached transitions cost none. */
  function visitsPerCharacter(
    source: string,
    text: string,
    search: (pattern: Pattern, text: string) => unknown,
  ): number {
    const asked = pattern(source);
    const before = automatonOf(asked).visits;
    search(asked, text);
    return (automatonOf(asked).visits - before) / text.length;
  }

  const long = "a".repeat(100_000);

  it.each([
    ["(a+)+$", `${long}!`],
    ["(a|aa)*b", long],
    ["(.*)*x", long],
    ["(a*)*b", long],
    ["((a?){30}){30}b", "a".repeat(inject("thorough") ? 10_000 : 2_000)],
    ["(?:a|a|a|a)*(?:a|a|a)*b", long],
    ["(?:.*a){20}b", long],
    ["(\\w+\\s?)*:", "the quick brown fox ".repeat(5_000)],
    ["(?i)(?:[a-z]+)*\\d", long],
  ])("visits each instruction at most once for each character: %s", (source, text) => {
    const instructions = pattern(source).ops.length;
    expect(searchPattern(pattern(source), text)).toBe(false);
    expect(visitsPerCharacter(source, text, searchPattern)).toBeLessThanOrEqual(instructions);
    const matching = `${text}b x:1`;
    expect(visitsPerCharacter(source, matching, findPattern)).toBeLessThanOrEqual(2 * instructions);
  });

  it("is almost zero if the text contains only cached transitions", () => {
    expect(visitsPerCharacter("(a|aa)*c", long, searchPattern)).toBeLessThan(0.001);
  });

  it("stays bounded if the pattern has more states than the cache", () => {
    // This pattern needs 2 ** 101 states, because it must remember which of the last 101 characters were an a.
    const source = "[ab]*a[ab]{100}c";
    let seed = 1;
    const text = Array.from({ length: inject("thorough") ? 30_000 : 10_000 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? "a" : "b";
    }).join("");
    expect(searchPattern(pattern(source), text)).toBe(false);
    expect(visitsPerCharacter(source, text, searchPattern)).toBeLessThanOrEqual(pattern(source).ops.length);
    expect(found(source, `${text}b${"a".repeat(100)}c`)).toBeNull();
    expect(found(source, `${text}a${"b".repeat(100)}c`)).toBe(`${text}a${"b".repeat(100)}c`);
  });

  it("stays bounded if the pattern has more symbols than the cache", () => {
    const letters = Array.from({ length: 600 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const source = `(?:${letters.map((letter) => `[^${letter}]`).join("|")})!`;
    expect(found(source, `${letters.join("").repeat(2)}!`)).toBe(`${letters.at(-1)}!`);
    expect(found(source, letters.join(""))).toBeNull();
  });

  it("does not grow the call stack with the pattern", () => {
    expect(found(`(?:${"a|".repeat(3_000)}b)c`, "aabc")).toBe("bc");
    expect(found(`${"(?:".repeat(200)}a${")*".repeat(200)}b`, "aab")).toBe("aab");
    expect(found("a?".repeat(3_000), "aaa")).toBe("aaa");
  });
});
