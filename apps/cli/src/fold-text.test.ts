import { expect, it } from "vitest";
import { foldText } from "./fold-text.ts";

it.each([
  ["", [""]],
  ["one two three", ["one two", "three"]],
  ["one\n\ntwo", ["one", "", "two"]],
  ["a https://host.example/long b", ["a", "https://host.example/long", "b"]],
  ["  two in", ["  two in"]],
  ["名前 が 名前", ["名前 が", "名前"]],
])("foldText folds %j to %j", (text, lines) => {
  expect(foldText(text, 8)).toEqual(lines);
});
