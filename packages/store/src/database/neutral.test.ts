import { describe, expect, it } from "vitest";
import { neutral, neutralText, toJson } from "./neutral.ts";

describe("text for Postgres", () => {
  it("NUL and lone surrogates are replaced, and nothing else", () => {
    expect(neutralText("a\0b")).toBe("a\ufffdb");
    expect(neutralText("\ud83d x \ude00")).toBe("\ufffd x \ufffd");
    expect(neutralText("😀 é \u0001 \\u0000")).toBe("😀 é \u0001 \\u0000");
  });

  it("values are cleaned at any depth, including keys, and so is their JSON", () => {
    const value = { list: ["\0", { "k\0": "\udc00" }], number: 1, none: null };
    const clean = { list: ["\ufffd", { "k\ufffd": "\ufffd" }], number: 1, none: null };
    expect(neutral(value)).toEqual(clean);
    expect(JSON.parse(toJson(value))).toEqual(clean);
  });

  it("a clean value is returned as the same object", () => {
    const value = { text: "fine 😀" };
    expect(neutral(value)).toBe(value);
  });

  it("a backslash that only looks like an escape is left alone", () => {
    const value = { text: "\\u0000 and \\ud800" };
    expect(neutral(value)).toEqual(value);
    expect(JSON.parse(toJson(value))).toEqual(value);
  });
});
