/** A student's file and a model's quotation cost work in proportion to their length. */
import { expect, it } from "vitest";
import { growthOfWork } from "../../../../../tests/support/count-work.ts";
import { quotedCode } from "./quoted-code.ts";

it.each([
  ["of one long line each", (size: number) => "a".repeat(size)],
  ["of short lines", () => "ab"],
])("a quotation that stands nowhere in a file takes linear work: %s", (_, line) => {
  const of = (size: number) => {
    const file = `${line(size)}\n`.repeat(size);
    const quotation = { file: "a.js", line: 1, quote: `${"a".repeat(size)}b${"a".repeat(size)}` };
    return () => quotedCode([quotation], new Map([["a.js", file]]));
  };
  // Five times the lines, and five times the length of each.
  expect(growthOfWork(of(58), of(290))).toBeLessThan(60);
});
