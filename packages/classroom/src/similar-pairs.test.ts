import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { similarPairs } from "./similar-pairs.ts";

const folder = join(import.meta.dirname, "../../../examples/class-roman/submissions");
const works = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith("_roman.js"))
    .map((name) => [/_(\d{4})_/.exec(name)?.[1] ?? name, readFileSync(join(folder, name), "utf8")] as const),
);
const [ada = "", bob = ""] = [works.get("4117"), works.get("4102")];

describe("similar pairs", () => {
  it("contain the two students of the example who copied, before all others", () => {
    const [first, second] = similarPairs(works, { above: 0 }).pairs;
    expect([first?.one, first?.other].sort()).toEqual(["4117", "4118"]);
    expect(first?.similarity).toBeGreaterThan(0.95);
    expect(second?.similarity ?? 0).toBeLessThan(0.9);
  });

  it("are found despite other names, texts, blanks and comments", () => {
    const renamed = ada
      .replaceAll("price", "x")
      .replaceAll("note", "y")
      .replaceAll("//", "// hm")
      .replaceAll("  ", "\t");
    expect(
      similarPairs(
        new Map([
          ["a", ada],
          ["b", renamed],
          ["c", bob],
        ]),
      ).pairs,
    ).toMatchObject([{ one: "a", other: "b" }]);
  });

  it("ignore the template that all students received", () => {
    const both = new Map([
      ["a", ada],
      ["b", ada],
    ]);
    expect(similarPairs(both).pairs).toHaveLength(1);
    expect(similarPairs(both, { template: ada }).pairs).toEqual([]);
  });

  it("do not exist between submissions that are too small to compare", () => {
    expect(
      similarPairs(
        new Map([
          ["a", "x = 1"],
          ["b", "x = 1"],
        ]),
      ).pairs,
    ).toEqual([]);
    expect(similarPairs(new Map())).toEqual({ pairs: [], partly: [] });
  });

  // Each of these took minutes or hours when the time grew with the square of the length.
  it.each([
    ["comments without an end", "/* ".repeat(66_000)],
    ["texts without an end", `"${'\\"'.repeat(100_000)}`],
    ["texts of lines without an end", `\`${"\\`".repeat(100_000)}`],
    ["one token", "x ".repeat(100_000)],
    ["one line that repeats", "a = a + 1; ".repeat(18_000)],
  ])(
    "are found quickly if a submission consists only of %s",
    (_, text) => {
      const hostile = ["a", "b", "c", "d"].map((key) => [key, text] as const);
      const { pairs, partly } = similarPairs(new Map([...hostile, ["e", ada], ["f", ada]]));
      expect(pairs).toContainEqual({ one: "e", other: "f", similarity: 1 });
      expect(pairs).toContainEqual({ one: "a", other: "b", similarity: 1 });
      expect(partly).toEqual(["a", "b", "c", "d"]);
    },
    20_000,
  );

  it("of small submissions are found even if large ones use up the limit, and the large ones are reported", () => {
    const large = (seed: number) => {
      let state = seed;
      const next = () => {
        state = (state * 48_271) % 2_147_483_647;
        return "+-*%<>=!&|^~?:;".charAt(state % 15);
      };
      return Array.from({ length: 4_000 }, next).join(" x ");
    };
    const others = [3, 5, 7, 9].map((seed) => [`large-${seed}`, large(seed)] as const);
    const { pairs, partly } = similarPairs(new Map([...others, ["a", ada], ["b", ada]]), { effort: 100 });
    expect(pairs).toEqual([{ one: "a", other: "b", similarity: 1 }]);
    expect(partly.length).toBeGreaterThan(0);
    expect(partly.every((key) => key.startsWith("large"))).toBe(true);
  });

  it("treat a comment or text without an end as ordinary tokens", () => {
    const rows = new Map([
      ["a", `/* ${ada}`.replaceAll("*/", "")],
      ["b", ada.replaceAll("*/", "")],
    ]);
    expect(similarPairs(rows).pairs).toMatchObject([{ one: "a", other: "b" }]);
  });
});
