import fc from "fast-check";
import { expect, it } from "vitest";
import { containsText, placesOf } from "./find-text.ts";

const letters = (most: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength: most });

function placesPlainly(wanted: string, text: string): number[] {
  return Array.from({ length: text.length + 1 }, (_, at) => at).filter((at) => text.startsWith(wanted, at));
}

it("finds a short text where it stands", () => {
  fc.assert(
    fc.property(letters(5), letters(40), (wanted, text) => {
      expect([...placesOf(wanted, text)]).toEqual(placesPlainly(wanted, text));
      expect(containsText(text, wanted)).toBe(text.includes(wanted));
    }),
  );
});

it("finds a long text where it stands, also within itself", () => {
  fc.assert(
    fc.property(letters(6), letters(6), fc.integer({ min: 0, max: 4 }), (piece, other, more) => {
      const wanted = `${piece.repeat(30)}${other}`;
      const text = `${other}${piece.repeat(30 + more)}${other}${wanted}${wanted}b`;
      expect([...placesOf(wanted, text)]).toEqual(placesPlainly(wanted, text));
      expect(containsText(text, `${wanted}c`)).toBe(false);
    }),
  );
});
