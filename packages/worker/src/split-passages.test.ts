import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { splitPassages } from "./split-passages.ts";

const letters = (text: string) => text.replaceAll(/\s+/gu, "");

describe("splitting a text into passages", () => {
  it("cuts at paragraphs, then sentences, then words, each as long as fits", () => {
    const sentence = (n: number) => `Sentence number ${n} says something about the tides of the sea.`;
    const first = [1, 2, 3].map(sentence).join(" ");
    const second = [4, 5, 6, 7, 8].map(sentence).join(" ");
    expect(splitPassages(`${first}\n\n${second}`)).toEqual([first, [4, 5, 6, 7].map(sentence).join(" "), sentence(8)]);
    expect(splitPassages(`${"word ".repeat(60)}`)).toEqual(["word ".repeat(50).trim(), "word ".repeat(10).trim()]);
  });

  it("drops passages with too little text, counted in bytes", () => {
    expect(splitPassages("too short a text")).toEqual([]);
    expect(splitPassages("ääääääääääää")).toEqual([]);
    expect(splitPassages("äääääääääääää")).toEqual(["äääääääääääää"]);
    expect(splitPassages("")).toEqual([]);
  });

  it("creates passages of at most 250 characters, in order, and loses only those that are too short", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 400 }), { maxLength: 8 }), (parts) => {
        const text = parts.join(parts.length % 2 === 0 ? "\n\n" : ". ");
        const found = splitPassages(text);
        let from = 0;
        for (const piece of found) {
          expect([...piece].length).toBeLessThanOrEqual(250);
          expect(Buffer.byteLength(piece)).toBeGreaterThanOrEqual(25);
          const at = text.indexOf(piece, from);
          expect(at).toBeGreaterThanOrEqual(from);
          from = at + piece.length;
        }
        const kept = found.reduce((sum, piece) => sum + letters(piece).length, 0);
        expect(kept).toBeLessThanOrEqual(letters(text).length);
      }),
    );
  });

  it("cuts no character in half, in any text of any length", () => {
    const length = inject("thorough") ? 2_000_000 : 500_000;
    for (const unit of [".", " ", "\n", "a ", "\n ", "😀", '!?"', "a"]) {
      const found = splitPassages(unit.repeat(length / unit.length));
      expect(found.filter((piece) => !piece.isWellFormed())).toEqual([]);
    }
  });
});
