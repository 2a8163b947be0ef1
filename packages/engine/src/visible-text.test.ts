import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { visibleJson, visibleText } from "./visible-text.ts";

describe("text for people", () => {
  it("shows terminal sequences as plain characters", () => {
    expect(visibleText("\x1b[2J\x1b]0;title\x07a\x9b31mb\rc\r\nd\te\b\x7f\0")).toBe(
      "␛[2J␛]0;title␇a\ufffd31mb␍c\nd\te␈␡␀",
    );
  });

  it("shows bidi controls, fillers, selectors, tags and zero widths", () => {
    for (const point of [
      0x00ad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x2028, 0x202e,
      0x2060, 0x2064, 0x2066, 0x206a, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1d159, 0x1d173, 0xe0001,
      0xe0041, 0xe007f, 0xe0100, 0xe01ef,
    ]) {
      const shown = `a<U+${point.toString(16).toUpperCase().padStart(4, "0")}>b`;
      expect(visibleText(`a${String.fromCodePoint(point)}b`)).toBe(shown);
    }
  });

  it("keeps emoji, accents and scripts unchanged", () => {
    for (const text of ["👩‍🏫 ❤️ 1️⃣ 🏳️‍🌈 👍🏽 👩🏽‍💻", "naïve e\u0301", "می‌خواهم", "漢字 עברית العربية", "tab\tline\nend"])
      expect(visibleText(text)).toBe(text);
  });

  it("shows selectors and joiners that no emoji needs", () => {
    expect(visibleText("❤️️ a\u200d❤ 1\ufe0f 👩\u200da")).toBe("❤️<U+FE0F> a<U+200D>❤ 1<U+FE0F> 👩<U+200D>a");
  });

  it("is safe for any text, and a second pass changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const shown = visibleText(text);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown).not.toMatch(/(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u);
        expect(visibleText(shown)).toBe(shown);
      }),
      { numRuns: inject("thorough") ? 2000 : 200 },
    );
  });
});

describe("JSON for people", () => {
  it("has the same values, escaped", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const json = visibleJson(JSON.stringify({ text }, null, 2));
        expect(JSON.parse(json)).toEqual({ text });
        expect(json).not.toMatch(/(?![\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u);
      }),
      { numRuns: inject("thorough") ? 1000 : 100 },
    );
    expect(visibleJson(JSON.stringify("\u202e\x9b\u{e0041}👩‍🏫"))).toBe('"\\u202e\\u009b\\udb40\\udc41👩‍🏫"');
  });
});
