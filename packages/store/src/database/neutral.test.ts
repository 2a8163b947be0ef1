import { describe, expect, it } from "vitest";
import { neutral, neutralText, toJson } from "./neutral.ts";

describe("text on its way to Postgres", () => {
  it("loses NUL and lone surrogates, nothing else", () => {
    expect(neutralText("a\0b")).toBe("a\ufffdb");
    expect(neutralText("\ud83d x \ude00")).toBe("\ufffd x \ufffd");
    expect(neutralText("😀 é \u0001 \\u0000")).toBe("😀 é \u0001 \\u0000");
  });

  it("is neutral at any depth, in keys too, and JSON says the same", () => {
    const value = { list: ["\0", { "k\0": "\udc00" }], number: 1, none: null };
    const clean = { list: ["\ufffd", { "k\ufffd": "\ufffd" }], number: 1, none: null };
    expect(neutral(value)).toEqual(clean);
    expect(JSON.parse(toJson(value))).toEqual(clean);
  });

  it("comes back as the very same value when there is nothing to do", () => {
    const value = { text: "fine 😀" };
    expect(neutral(value)).toBe(value);
  });

  it("is not fooled by a backslash that only looks like an escape", () => {
    const value = { text: "\\u0000 and \\ud800" };
    expect(neutral(value)).toEqual(value);
    expect(JSON.parse(toJson(value))).toEqual(value);
  });
});
