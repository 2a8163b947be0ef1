import { describe, expect, it } from "vitest";
import { cutPage } from "./cut-page.ts";

const letters = ["a", "b", "c", "d", "e"];
const same = (one: string) => one;

describe("cutPage", () => {
  it.each([1, 2, 3, 4, 5, 6])("returns every item once over pages of %i", (limit) => {
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      const page = cutPage(letters, same, { limit, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.items.length).toBeGreaterThan(0);
      seen.push(...page.items);
      cursor = page.next;
    }
    expect(seen).toEqual(letters);
    expect(pages).toBe(Math.ceil(letters.length / limit));
  });

  it("returns an empty page for an empty list", () => {
    expect(cutPage([], same, { limit: 5 })).toEqual({ items: [], next: null });
  });

  it("refuses a cursor that names no item in the list", () => {
    expect(() => cutPage(letters, same, { limit: 2, cursor: "gone" })).toThrow(
      expect.objectContaining({ code: "INVALID" }),
    );
  });
});
