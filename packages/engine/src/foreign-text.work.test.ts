/** For text of models, students and commands, the engine's work is proportional to the length of the text. */
import { describe, expect, it } from "vitest";
import { countWork, growthOfWork } from "../../../tests/support/count-work.ts";
import { evaluateCondition } from "./evaluate-condition.ts";
import { fillCommand } from "./fill-command.ts";
import { render } from "./render.ts";
import { initialState, type RunState } from "./state.ts";
import { programOf } from "./testing-programs.ts";
import { visibleText } from "./visible-text.ts";

const result = { from: "variable", name: "RESULT" } as const;
const check = (op: "equals" | "matches", right: string) => (text: string) => {
  const state: RunState = { ...initialState, variables: { RESULT: text } };
  const literal = { from: "literal", text: right } as const;
  const condition =
    op === "matches"
      ? ({ op, left: result, right: literal } as const)
      : ({ op, left: result, right: literal, lenient: true } as const);
  return evaluateCondition(condition, { program: programOf({}, []), state, reads: {}, files: {} });
};

const readers: Record<string, (text: string) => unknown> = {
  "a lenient CHECK": check("equals", "SUCCESS"),
  "a rendered template": (text) => render(text, () => "v"),
  "a command with values": (text) => fillCommand(`${text}{{X}}`, () => "v"),
  "visible text": visibleText,
};
const units = [
  " ",
  "\n",
  "`",
  ".",
  "x",
  "{{",
  "{{ ",
  "}}",
  "(",
  '"',
  "'",
  "$",
  "\\",
  "$(",
  "(\"$(' ",
  "[[",
  "]]",
  "\u200b",
  "<<A ",
  "#",
  "**",
  "-c ",
];

describe.each(Object.entries(readers))("%s", (_, read) => {
  it.each(units)("does linear work for a text of %j", (unit) => {
    const of = (count: number) => () => read(`x${unit.repeat(count)}x`);
    expect(growthOfWork(of(1_000), of(10_000))).toBeLessThan(20);
  });
});

describe("MATCHES", () => {
  const hostile: readonly (readonly [string, string])[] = [
    ["a[ab]{5000}c", "a".repeat(200_000)],
    ["(?:a?){4000}b", "a".repeat(500_000)],
    ["(x+x+)+y", "x".repeat(2_000_000)],
    ["[ab]*a[ab]{4000}", "ab".repeat(300_000)],
    [`(?i)${"[\\p{L}a-z]".repeat(700)}1`, "abcé".repeat(300_000)],
  ];
  it.each(hostile.map(([pattern, text]) => [pattern.slice(0, 20), pattern, text] as const))(
    "with a hostile pattern (%s) ends within its budget of work",
    (_, pattern, text) => {
      const matched = () => {
        try {
          check("matches", pattern)(text);
        } catch {
          // The search was refused because it costs too much.
        }
      };
      expect(countWork(matched).steps).toBeLessThan(120_000_000);
    },
  );

  const steps = (run: () => unknown) => countWork(run).steps;
  const refused = (run: () => unknown) => () => {
    expect(run).toThrow(/exceeds the limit for one step/);
  };
  /** Each pattern is written otherwise, so that none is known. */
  const all = (pattern: string, count: number) => (text: string) => {
    const state: RunState = { ...initialState, variables: { RESULT: text } };
    const of = Array.from({ length: count }, (_, at) => ({
      op: "matches" as const,
      left: result,
      right: { from: "literal" as const, text: `${pattern}(?:){${at + 1}}` },
    }));
    return evaluateCondition({ op: "or", of }, { program: programOf({}, []), state, reads: {}, files: {} });
  };

  it("charges many searches in short texts for all that they have to learn", () => {
    let seed = 1;
    const letter = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? "a" : "b";
    };
    const text = Array.from({ length: 20_000 }, letter).join("");
    expect(steps(refused(() => all("[ab]*a[ab]{15}c", 16)(text)))).toBeLessThan(60_000_000);
  });

  it("charges for reading patterns, which costs work in proportion to their length", () => {
    const ranges = (count: number) => `(?i)${"[!-\u{10ffff}]".repeat(count)}`;
    expect(steps(() => check("matches", ranges(1_000))("x"))).toBeLessThan(10_000_000);
    expect(steps(refused(() => all(ranges(1_000), 20)("x")))).toBeLessThan(60_000_000);
  });

  it("leaves room for plain patterns on the longest value", () => {
    const text = "a line of a log that says nothing\n".repeat(61_000);
    expect(all("(?m)^(?:PASS|FAIL): \\d+/\\d+$", 3)(text).holds).toBe(false);
    expect(all("^(?:PASS|FAIL)\\b|[A-Z]{3,}: \\d+", 3)(text).holds).toBe(false);
    expect(all("SUCCESS: \\d+", 20)(text).holds).toBe(false);
  });

  it("leaves room for hundreds of plain patterns on a reply", () => {
    const text = "The median of an even number of values is the mean of the two in the middle.\n".repeat(40);
    expect(all("(?mi)^(?:grade|points|note): *(\\d+) */ *10$", 300)(text).holds).toBe(false);
  });
});

describe("a search for a long text", () => {
  it.each(["contains", "includes"] as const)("takes linear work: %s", (op) => {
    const compared = (size: number) => () => {
      const state: RunState = { ...initialState, variables: { RESULT: "a".repeat(4 * size) } };
      const right = { from: "literal", text: `${"a".repeat(size)}b${"a".repeat(size)}` } as const;
      return evaluateCondition(
        { op, left: result, right },
        { program: programOf({}, []), state, reads: {}, files: {} },
      );
    };
    expect(growthOfWork(compared(1_000), compared(10_000))).toBeLessThan(20);
  });
});
