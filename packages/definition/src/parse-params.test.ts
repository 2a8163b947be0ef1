import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatParam, parseParams } from "./parse-params.ts";

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

  it("reads back every item it writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", " ", "'", '"', ",", "\n", "\\", "n", "=") }), (value) => {
        const text = formatParam("A", value);
        if (text === null) {
          expect(value).toMatch(/['"]/);
        } else expect(read(`${text}, B`)).toEqual([["A", value], ["B", null]]);
      }),
      { numRuns: 2000 },
    );
  });

  it("stays linear on quotes that never close", () => {
    expect(parseParams("A='x,".repeat(50_000))).toHaveLength(50_000);
  });
});
