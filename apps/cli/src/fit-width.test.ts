import { describe, expect, it } from "vitest";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";

describe("a line of a screen", () => {
  it("is never wider than the screen, with any characters", () => {
    for (const text of [
      "plain text that is long",
      "漢字ばかりの長い行です",
      "👩‍🏫👩‍🏫👩‍🏫👩‍🏫👩‍🏫👩‍🏫",
      "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
    ]) {
      for (let columns = 1; columns < 30; columns++)
        expect(textWidth(fitWidth(text, columns))).toBeLessThanOrEqual(columns);
    }
  });

  it("stays whole if it fits", () => {
    expect(fitWidth("12345", 5)).toBe("12345");
    expect(fitWidth("123456", 5)).toBe("1234…");
  });

  it("contains no characters that move the cursor or change the direction", () => {
    expect(oneLine("a\r\nb\tc\u001b[2Jd\u202ee\u0007")).toBe("a b c[2Jde");
  });
});
