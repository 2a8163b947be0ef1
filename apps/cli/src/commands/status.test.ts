import { expect, it } from "vitest";
import { textWidth } from "../fit-width.ts";
import { lineOf } from "./status.ts";

const spent = { steps: 3, calls: 1, promptTokens: 200, completionTokens: 78, nanodollars: 286_000 };
const run = {
  id: "01a1e5e1-4d27-7b7b-9637-6d07cce773bb",
  status: "cancelled" as const,
  name: "Review of a very long program, in several parts",
  spent,
  createdAt: new Date("2026-11-16T19:41:00Z"),
} as const;

it("status shows a run on one 80-column line, with the end of its id", () => {
  const line = lineOf(run, { shown: true, columns: 80 });
  expect(line).toMatch(/^6d07cce773bb {2}cancelled {4}11-16 19:41 .* 278 tokens {2}Review/);
  expect(textWidth(line)).toBeLessThanOrEqual(80);
});

it("status prints the whole id of a run for programs", () => {
  expect(lineOf(run, { shown: false, columns: 80 })).toMatch(/^01a1e5e1-4d27-7b7b-9637-6d07cce773bb {2}cancelled /);
});
