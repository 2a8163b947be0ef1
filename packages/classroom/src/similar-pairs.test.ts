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
  it("in the example are the two who copied, before all others", () => {
    const [first, second] = similarPairs(works, { above: 0 });
    expect([first?.one, first?.other].sort()).toEqual(["4117", "4118"]);
    expect(first?.similarity).toBeGreaterThan(0.95);
    expect(second?.similarity ?? 0).toBeLessThan(0.9);
  });

  it("are found in spite of other names, texts, blanks and comments", () => {
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
      ),
    ).toMatchObject([{ one: "a", other: "b" }]);
  });

  it("leave out what everybody was given", () => {
    const both = new Map([
      ["a", ada],
      ["b", ada],
    ]);
    expect(similarPairs(both)).toHaveLength(1);
    expect(similarPairs(both, { template: ada })).toEqual([]);
  });

  it("are none where there is too little to compare", () => {
    expect(
      similarPairs(
        new Map([
          ["a", "x = 1"],
          ["b", "x = 1"],
        ]),
      ),
    ).toEqual([]);
    expect(similarPairs(new Map())).toEqual([]);
  });
});
