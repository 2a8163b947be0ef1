import { describe, expect, inject, it } from "vitest";
import { caseFamilies, foldCase } from "./fold-case.ts";

function written(families: readonly (readonly number[])[]): readonly string[] {
  return families.map((family) => family.join()).sort();
}

describe("case families", () => {
  it("contain every letter of every plane", () => {
    const byFold = new Map<number, number[]>();
    // The higher planes have no letters with case. The thorough run checks all of Unicode.
    const last = inject("thorough") ? 0x10ffff : 0x1ffff;
    for (let codePoint = 0; codePoint <= last; codePoint++) {
      if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
      const fold = foldCase(codePoint);
      const family = byFold.get(fold);
      if (family === undefined) byFold.set(fold, [codePoint]);
      else family.push(codePoint);
    }
    const all = [...byFold.values()].filter((family) => family.length > 1);
    expect(all.length).toBeGreaterThan(1_300);
    expect(written([...new Set(caseFamilies().values())])).toEqual(written(all));
  });

  it.each([
    ["k", "Kk\u212a"],
    ["s", "Ssſ"],
    ["ß", "ßẞ"],
    ["σ", "Σςσ"],
    ["i", "Iiİı"],
    ["ﬅ", "ﬅﬆ"],
    ["𐐀", "𐐀𐐨"],
  ])("the family of %s consists of %s", (letter, forms) => {
    const family = caseFamilies().get(letter.codePointAt(0) ?? 0) ?? [];
    expect(new Set(String.fromCodePoint(...family))).toEqual(new Set(forms));
  });

  it("equal those of RegExp, which only lacks the Turkish letters", () => {
    for (const [codePoint, family] of caseFamilies()) {
      const letter = String.fromCodePoint(codePoint);
      if ("İı".includes(letter)) continue;
      const others = family.filter((other) => other !== 0x130 && other !== 0x131);
      const missed = others.filter((other) => !new RegExp(letter, "iu").test(String.fromCodePoint(other)));
      expect(missed, letter).toEqual([]);
    }
  });
});
