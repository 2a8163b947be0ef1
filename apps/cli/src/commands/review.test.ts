import { expect, it } from "vitest";
import { textWidth } from "../fit-width.ts";
import { reviewLines } from "./review.ts";

const text = `Vera Quist: ${Array.from({ length: 8 }, (_, index) => `roman.js:${index} speaks to the grader`).join("; ")}`;

it("the review list shows every reason on a screen of 80 columns", () => {
  const lines = reviewLines("4119", text, { shown: true, columns: 80 });
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80);
  expect(lines.map((line) => line.slice(12)).join(" ")).toBe(text);
  expect(lines[0]).toMatch(/^4119 {8}Vera Quist: /);
});

it("the review list has one line per submission if a program reads it", () => {
  expect(reviewLines("4119", text, { shown: false, columns: 80 })).toEqual([`4119        ${text}`]);
});
