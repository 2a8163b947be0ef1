import { describe, expect, it } from "vitest";
import { quotedCode } from "./quoted-code.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");

describe("the quoted files of a report", () => {
  it("include only quoted files, with every line of a quotation marked", () => {
    const sources = new Map([
      ["a.js", "one\ntwo\nthree\nfour\n"],
      ["b.js", "other"],
    ]);
    expect(quotedCode([{ file: "a.js", line: 2, quote: "two\nthree" }], sources)).toEqual([
      {
        path: "a.js",
        count: 4,
        lines: [
          { is: "line", number: 1, text: "one", marked: false },
          { is: "line", number: 2, text: "two", marked: true },
          { is: "line", number: 3, text: "three", marked: true },
          { is: "line", number: 4, text: "four", marked: false },
        ],
      },
    ]);
    expect(quotedCode([{ file: "gone.js", line: 1, quote: "x" }], sources)).toEqual([]);
  });

  it("have no mark if the quotation is not at its line", () => {
    const sources = new Map([["a.ipynb", '{"cells": [\n"x = 1"]}']]);
    expect(quotedCode([{ file: "a.ipynb", line: 2, quote: "y = 2" }], sources)).toEqual([]);
  });

  it("show a long file around its marks, with the number of lines left out", () => {
    const [file] = quotedCode([{ file: "a", line: 500, quote: "line 500" }], new Map([["a", lines(2000)]]));
    const shown = file?.lines ?? [];
    expect(shown[0]).toEqual({ is: "left out", count: 491 });
    expect(shown.at(-1)).toEqual({ is: "left out", count: 1492 });
    expect(shown).toHaveLength(19);
  });

  it("keep the limits for a file of one long line and for a quotation of every line", () => {
    const [wide] = quotedCode([{ file: "a", line: 1, quote: "xxxx" }], new Map([["a", "x".repeat(1_000_000)]]));
    expect(JSON.stringify(wide).length).toBeLessThan(500);
    const everywhere = Array.from({ length: 5000 }, (_, index) => ({
      file: "a",
      line: index + 1,
      quote: `line ${index + 1}`,
    }));
    const [tall] = quotedCode(everywhere, new Map([["a", lines(5000)]]));
    expect(tall?.lines.length).toBeLessThanOrEqual(301);
  });
});
