import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { formatParams, parseParams } from "./parse-params.ts";

const read = (text: string) => parseParams(text).map(({ name, default: value }) => [name, value]);

describe("the text of PARAMS", () => {
  it("tells required, empty and given defaults apart", () => {
    expect(read("A, B=, C=1")).toEqual([
      ["A", null],
      ["B", ""],
      ["C", "1"],
    ]);
  });

  it("separates at commas, line breaks and a literal \\n, and trims around each part", () => {
    expect(read("A, \\nB = x \nC,,\n")).toEqual([
      ["A", null],
      ["B", "x"],
      ["C", null],
    ]);
  });

  it("takes one pair of quotes off a default, which may then hold separators", () => {
    expect(read(`A='one, two', B="x\ny" , C='', D=it's, E='open, F=2`)).toEqual([
      ["A", "one, two"],
      ["B", "x\ny"],
      ["C", ""],
      ["D", "it's"],
      ["E", "'open"],
      ["F", "2"],
    ]);
  });

  it("splits at the first equals sign only", () => {
    expect(read("URL=https://example.org/?a=1&b=2")).toEqual([["URL", "https://example.org/?a=1&b=2"]]);
  });

  it("tells where an item starts", () => {
    expect(parseParams("AB,  CD=1").map(({ offset }) => offset)).toEqual([0, 5]);
  });

  it("reads back every list it writes, and writes all lists without quotes in their defaults", () => {
    const value = fc.string({ unit: fc.constantFrom("a", " ", "'", '"', ",", "\n", "\\", "n", "=") });
    fc.assert(
      fc.property(fc.array(fc.option(value), { maxLength: 3 }), (defaults) => {
        const params = defaults.map((given, index) => ({ name: `P${index}`, default: given }));
        const text = formatParams(params);
        if (text === null) expect(defaults.some((given) => /['"]/.test(given ?? ""))).toBe(true);
        else expect(read(text)).toEqual(params.map((param) => [param.name, param.default]));
      }),
      { numRuns: inject("thorough") ? 3000 : 300 },
    );
    expect(
      formatParams([
        { name: "A", default: "it's" },
        { name: "B", default: 'say "x", y' },
      ]),
    ).toBe(`A="it's", B='say "x", y'`);
  });

  it("stays linear on quotes that never close", () => {
    expect(parseParams("A='x,".repeat(50_000))).toHaveLength(50_000);
  });
});
