import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, inject, it } from "vitest";
import { findPattern, searchPattern } from "./match-pattern.ts";
import { parsePattern } from "./parse-pattern.ts";
import type { Pattern } from "./pattern.ts";

/** The same pattern in our syntax and in the syntax of the other engine. */
interface Twin {
  readonly ours: string;
  readonly theirs: string;
  /** Whether it can match the empty text. Engines differ in how they leave a loop over the empty text. */
  readonly empty: boolean;
}

const same = (source: string): Twin => ({ ours: source, theirs: source, empty: false });

function twins(atoms: readonly Twin[], assertions: readonly Twin[], loopsOverEmpty: boolean): fc.Arbitrary<Twin> {
  return fc.letrec<{ twin: Twin; sequence: Twin; choice: Twin; group: Twin; repeat: Twin }>((tie) => ({
    twin: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 3, arbitrary: fc.constantFrom(...atoms) },
      { weight: 1, arbitrary: fc.constantFrom(...assertions) },
      { weight: 3, arbitrary: tie("sequence") },
      { weight: 2, arbitrary: tie("choice") },
      { weight: 2, arbitrary: tie("group") },
      { weight: 3, arbitrary: tie("repeat") },
    ),
    sequence: fc.array(tie("twin"), { minLength: 2, maxLength: 3 }).map((parts) => ({
      ours: parts.map((part) => `(?:${part.ours})`).join(""),
      theirs: parts.map((part) => `(?:${part.theirs})`).join(""),
      empty: parts.every((part) => part.empty),
    })),
    choice: fc.array(tie("twin"), { minLength: 2, maxLength: 3 }).map((parts) => ({
      ours: `(?:${parts.map((part) => part.ours).join("|")})`,
      theirs: `(?:${parts.map((part) => part.theirs).join("|")})`,
      empty: parts.some((part) => part.empty),
    })),
    group: tie("twin").map((part) => ({ ours: `(${part.ours})`, theirs: `(${part.theirs})`, empty: part.empty })),
    repeat: fc
      .tuple(tie("twin"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"), fc.constantFrom("", "?"))
      .map(([part, quantifier, lazy]) => {
        if (part.empty && !loopsOverEmpty) return part;
        const repeated = (source: string) => `(?:${source})${quantifier}${lazy}`;
        return {
          ours: repeated(part.ours),
          theirs: repeated(part.theirs),
          empty: part.empty || "*?{0,2}".includes(quantifier),
        };
      }),
  })).twin;
}

function parse(source: string): Pattern {
  const parsed = parsePattern(source);
  if (!parsed.ok) throw new Error(`${source}: ${parsed.message}`);
  return parsed.pattern;
}

const numRuns = inject("thorough") ? 1_000 : 100;

describe("compared with RegExp", () => {
  const word = "[\\p{L}\\p{N}_]";
  const space = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
  const atoms: readonly Twin[] = [
    ...["a", "b", "é", "😀", "k", "[ab]", "[^a]", "[a-cé]", "[😀-😂]", "\\n", "\\x61", "\\u00e9"].map(same),
    { ours: ".", theirs: "[^\\n]", empty: false },
    { ours: "(?s:.)", theirs: "[^]", empty: false },
    { ours: "\\w", theirs: word, empty: false },
    { ours: "\\W", theirs: "[^\\p{L}\\p{N}_]", empty: false },
    { ours: "\\d", theirs: "\\p{Nd}", empty: false },
    { ours: "\\s", theirs: space, empty: false },
    { ours: "\\S", theirs: space.replace("[", "[^"), empty: false },
  ];
  const boundary = `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`;
  const assertions: readonly Twin[] = [
    { ours: "^", theirs: "(?<![^])", empty: true },
    { ours: "$", theirs: "(?=\\n?(?![^]))", empty: true },
    { ours: "(?m:^)", theirs: "(?<![^\\n])", empty: true },
    { ours: "(?m:$)", theirs: "(?![^\\n])", empty: true },
    { ours: "\\Z", theirs: "(?![^])", empty: true },
    { ours: "\\b", theirs: boundary, empty: true },
    { ours: "\\B", theirs: `(?!${boundary})`, empty: true },
    { ours: "", theirs: "", empty: true },
  ];
  const texts = fc.string({
    unit: fc.constantFrom(
      "a",
      "b",
      "c",
      "A",
      "B",
      "\n",
      " ",
      "1",
      "é",
      "É",
      "😀",
      "K",
      "\u212a",
      "_",
      "\u0301",
      "\ud83d",
    ),
    maxLength: 8,
  });

  /** Searches position by position, because RegExp alone also tries assertions inside a surrogate pair. */
  function regExpFinds(source: string, flags: string, text: string): readonly [number, string] | null {
    const sticky = new RegExp(source, `uy${flags}`);
    for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
      sticky.lastIndex = at;
      const match = sticky.exec(text);
      if (match !== null) return [at, match[0]];
    }
    return null;
  }

  it.each(["", "i"])("searchPattern finds a match if and only if RegExp does, with the flags '%s'", (flags) => {
    fc.assert(
      fc.property(twins(atoms, assertions, true), texts, ({ ours, theirs }, text) => {
        const pattern = parse(flags === "" ? ours : `(?${flags})${ours}`);
        expect(searchPattern(pattern, text)).toBe(regExpFinds(theirs, flags, text) !== null);
      }),
      { numRuns },
    );
  });

  it.each(["", "i"])("findPattern finds the same match as RegExp, with the flags '%s'", (flags) => {
    fc.assert(
      fc.property(twins(atoms, assertions, false), texts, ({ ours, theirs }, text) => {
        const match = findPattern(parse(flags === "" ? ours : `(?${flags})${ours}`), text);
        expect(match && [match.start, match.groups[0]]).toEqual(regExpFinds(theirs, flags, text));
      }),
      { numRuns },
    );
  });
});

describe("compared with RE2", () => {
  const atoms: readonly Twin[] = ["a", "b", "é", "😀", "[ab]", "[^a]", "[a-c]", ".", "(?s:.)", "(?i:b)", "\\n"].map(
    same,
  );
  const assertions: readonly Twin[] = [
    ...["^", "\\A", "(?m:^)", "(?m:$)", ""].map((source) => ({ ...same(source), empty: true })),
    { ours: "\\Z", theirs: "\\z", empty: true },
  ];
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "c", "B", "\n", "é", "😀"), maxLength: 12 });

  it("searchPattern finds a match if and only if RE2 does", () => {
    fc.assert(
      fc.property(twins(atoms, assertions, true), texts, ({ ours, theirs }, text) => {
        expect(searchPattern(parse(ours), text)).toBe(RE2JS.compile(theirs).matcher(text).find());
      }),
      { numRuns },
    );
  });

  it("findPattern finds the same match and groups as RE2", () => {
    fc.assert(
      fc.property(twins(atoms, assertions, false), texts, ({ ours, theirs }, text) => {
        const match = findPattern(parse(ours), text);
        const matcher = RE2JS.compile(theirs).matcher(text);
        const expected = matcher.find()
          ? Array.from({ length: matcher.groupCount() + 1 }, (_, group) => matcher.group(group))
          : null;
        expect(match && [match.start, ...match.groups]).toEqual(expected && [matcher.start(), ...expected]);
      }),
      { numRuns },
    );
  });
});
