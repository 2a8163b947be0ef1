import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";
import { guardCell, looksLikeFormula } from "./formula.ts";
import { guessSeparator, readTable } from "./read-table.ts";
import { writeTable } from "./write-table.ts";

const texts = (text: string) => readTable(text).rows.map((row) => row.cells.map((cell) => cell.text));

describe("reading a table", () => {
  it("accepts quotes, doubled quotes and line breaks in cells", () => {
    expect(texts('a,b\n"x, y","say ""hi""\nthere"\n')).toEqual([
      ["a", "b"],
      ["x, y", 'say "hi"\nthere'],
    ]);
  });

  it("keeps empty cells, also at the end of a line and of the file", () => {
    expect(texts("a,b,\n,,\nx,")).toEqual([
      ["a", "b", ""],
      ["", "", ""],
      ["x", ""],
    ]);
  });

  it("creates no rows for blank lines or an empty text", () => {
    expect(texts("\n\na\n\n  \nb\n")).toEqual([["a"], ["b"]]);
    expect(texts("")).toEqual([]);
  });

  it("records the position of each cell, also after line breaks in quotes", () => {
    const [, second, third] = readTable('a,b\r\n"one\r\ntwo",x\r\nlast,y').rows;
    expect(second?.cells).toEqual([
      { text: "one\r\ntwo", line: 2, column: 1 },
      { text: "x", line: 3, column: 6 },
    ]);
    expect(third?.cells[1]).toEqual({ text: "y", line: 4, column: 6 });
    expect(third?.line).toBe(4);
  });

  it("reports a quote that is never closed", () => {
    expect(readTable('a,b\nx,"open\nand on').openQuote).toMatchObject({ line: 2, column: 3 });
    expect(readTable('a,"b"').openQuote).toBeNull();
  });

  it.each([
    ["a;b;c\n1,5;2;3", ";"],
    ["a\tb\n1\t2", "\t"],
    ["name,id\nMeyer; Anna,1", ","],
    ['"a;b;c;d",x\n"e;f",y', ","],
    ["alone", ","],
  ] as const)("guesses the separator of %j", (text, separator) => {
    expect(guessSeparator(text)).toBe(separator);
  });

  it("returns the cells that were written, whatever their content", () => {
    const cell = fc.string({ unit: fc.constantFrom(..."ab ,;\t\"\n\r'=é\ufeff") });
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 }));
    fc.assert(
      fc.property(table, fc.constantFrom(",", ";", "\t"), fc.boolean(), (rows, separator, bom) => {
        const back = readTable(writeTable(rows, { separator, bom }), separator);
        expect(back.openQuote).toBeNull();
        const kept = rows.filter((row) => row.length > 1 || (row[0] ?? "").trim() !== "");
        expect(back.rows.map((row) => row.cells.map(({ text }) => text))).toEqual(kept);
      }),
    );
  });
});

describe("bytes of a table", () => {
  it.each([
    [Buffer.from("é"), "utf-8", false, false],
    [Buffer.from("\ufeffé"), "utf-8", true, false],
    [Buffer.from("\ufeffé", "utf16le"), "utf-16le", true, false],
    [Buffer.from("\ufeffé", "utf16le").swap16(), "utf-16be", true, false],
    [Buffer.from([0xe9]), "windows-1252", false, true],
  ] as const)("are decoded (case %#)", (bytes, encoding, bom, guessed) => {
    expect(decodeText(bytes)).toEqual({ text: "é", encoding, bom, guessed });
  });
});

describe("formulas in cells", () => {
  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\u200b=1", "＝1", "\u2212 2"])(
    "are made harmless in %j",
    (text) => {
      expect(looksLikeFormula(text)).toBe(true);
      expect(guardCell(text)).toBe(`'${text}`);
    },
  );

  it.each(["", "a=b", "Well done", "3 of 4", "'quoted"])("are not found in %j, which stays unchanged", (text) => {
    expect(guardCell(text)).toBe(text);
  });
});
