import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { formatParams, parseParams } from "./parse-params.ts";

const read = (text: string) => parseParams(text).map(({ name, default: value }) => [name, value]);

describe("the text of PARAMS", () => {
  it("distinguishes required parameters, empty defaults and given defaults", () => {
    expect(read("A, B=, C=1")).toEqual([
      ["A", null],
      ["B", ""],
      ["C", "1"],
    ]);
  });

  it("is split at commas, line breaks and a literal \\n, and each part is trimmed", () => {
    expect(read("A, \\nB = x \nC,,\n")).toEqual([
      ["A", null],
      ["B", "x"],
      ["C", null],
    ]);
  });

  it("loses one pair of quotes around a default, which may then contain separators", () => {
    expect(read(`A='one, two', B="x\ny" , C='', D=it's, E='open, F=2`)).toEqual([
      ["A", "one, two"],
      ["B", "x\ny"],
      ["C", ""],
      ["D", "it's"],
      ["E", "'open"],
      ["F", "2"],
    ]);
  });

  it("is split only at the first equals sign", () => {
    expect(read("URL=https://example.org/?a=1&b=2")).toEqual([["URL", "https://example.org/?a=1&b=2"]]);
  });

  it("reports the start of each item", () => {
    expect(parseParams("AB,  CD=1").map(({ offset }) => offset)).toEqual([0, 5]);
  });

  it("every list that is written is read back, and all lists without quotes in their defaults can be written", () => {
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

  it("is read in linear work if quotes never close", () => {
    expect(parseParams("A='x,".repeat(50_000))).toHaveLength(50_000);
  });
});
