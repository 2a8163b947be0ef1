import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { neutraliseOutput, neutraliseText } from "./neutralise-output.ts";

describe("neutralised output", () => {
  it("drops colours, cursor movements, titles and hyperlinks", () => {
    expect(neutraliseText("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hx \x1b]0;title\x07y \x1b]8;;http://a\x1b\\z\x1b(B")).toBe(
      "red x y z",
    );
  });

  it("keeps the text after a stray introducer", () => {
    expect(neutraliseText(`\x1b]0;${"never ends ".repeat(100)}`)).toContain("never ends");
    expect(neutraliseText("\x1b]0;one line\nnext line")).toContain("next line");
  });

  it("shows bidi controls, zero width and tag characters instead of obeying them", () => {
    expect(neutraliseText("a\u202eb\u2066c\u200bd\u{e0041}e\ufefff")).toBe(
      "a<U+202E>b<U+2066>c<U+200B>d<U+E0041>e<U+FEFF>f",
    );
  });

  it("shows fillers, selectors and joiners that hide text", () => {
    expect(neutraliseText("a\u3164b\ufe01c\u{e0101}d\u200de\u115ff\u2800g\u034fh\u200ci\uffa0")).toBe(
      "a<U+3164>b<U+FE01>c<U+E0101>d<U+200D>e<U+115F>f<U+2800>g<U+034F>h<U+200C>i<U+FFA0>",
    );
    expect(neutraliseText("😀\u{e0041}\u{e0042}")).toBe("😀<U+E0041><U+E0042>");
    expect(neutraliseText("😀\ufe0f\ufe0f\u200dx")).toBe("😀\ufe0f<U+FE0F><U+200D>x");
  });

  it("keeps fillers, selectors and joiners in valid places", () => {
    const text =
      "👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} می\u200cخواهم क्\u200dष";
    expect(neutraliseText(text)).toBe(text);
  });

  it("shows NUL, backspace and DEL, and uses one kind of line end", () => {
    expect(neutraliseText("a\0b\bc\x7fd\r\ne\rf\u2028g\x85h")).toBe("a\u2400b\u2408c\u2421d\ne\nf\ng\ufffdh");
  });

  it("replaces invalid UTF-8", () => {
    expect(neutraliseOutput(Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]))).toBe(
      "a\ufffd\ufffd(\ufffd\ufffd\ufffd",
    );
  });

  it("keeps ordinary text of any script unchanged", () => {
    const text = "tab\tline\n日本語 العربية עברית Ω 😀 e\u0301";
    expect(neutraliseText(text)).toBe(text);
  });

  it("never contains a control, bidi control or lone surrogate, for any input", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = neutraliseOutput(bytes);
        expect(text.isWellFormed()).toBe(true);
        expect(
          [...text].filter((char) => /[\p{Cc}\p{Bidi_Control}]/u.test(char) && char !== "\n" && char !== "\t"),
        ).toEqual([]);
      }),
    );
  });
});
