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
});
