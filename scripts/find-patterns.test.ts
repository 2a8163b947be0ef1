// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of the source that is searched
import { expect, it } from "vitest";
import { findPatterns } from "./find-patterns.ts";

const found = (text: string) => {
  const { constant, computed } = findPatterns("a.ts", text);
  return {
    constant: constant.map(({ source, flags }) => `/${source}/${flags}`),
    computed: computed.map((one) => one.text),
  };
};

it.each([
  ["const a = /b+/gu;", "/b+/gu"],
  ['new RegExp("b+", "u")', "/b+/u"],
  ['RegExp("b" + "+")', "/b+/"],
  ["new RegExp(String.raw`\\d+`)", "/\\d+/"],
  ['const few = 3; new RegExp(`b{${few}}`, "g")', "/b{3}/g"],
  ['new RegExp(["a", "b"].join("|").replaceAll("a", "c"))', "/c|b/"],
  ['text.match("b+")', "/b+/"],
])("finds the pattern of %s", (text, pattern) => {
  expect(found(text)).toEqual({ constant: [pattern], computed: [] });
});

it("reports a pattern that is computed from a value of the program", () => {
  expect(found("const f = (name: string) => new RegExp(`^${name}`);")).toEqual({
    constant: [],
    computed: ["new RegExp(`^${name}`)"],
  });
});

it("finds a literal that is copied with other flags once, and no regular expression in texts and comments", () => {
  expect(found('new RegExp(/a+/, "g"); const text = "/x+/"; // /y+/').constant).toEqual(["/a+/"]);
});
