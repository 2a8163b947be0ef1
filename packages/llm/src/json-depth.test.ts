import { expect, it } from "vitest";
import { mostDepth, parsingRefused } from "./json-depth.ts";
import { readJsonReply } from "./json-in-reply.ts";

it("says why a text must not be parsed: too many values outside of strings, or nested too deep", () => {
  const five = '{"a": [1, 2, "[[[,,,\\"[["]}';
  expect(parsingRefused(five, 5)).toBe(null);
  expect(parsingRefused(five, 4)).toBe("It has more than 4 values.");
  expect(parsingRefused("[".repeat(mostDepth), mostDepth + 1)).toBe(null);
  expect(parsingRefused("[".repeat(mostDepth + 1), 1_000)).toContain("nested");
  expect(readJsonReply("[".repeat(2_000_000))).toEqual({ why: expect.stringContaining("nested") });
});

it("a reply with thousands of fenced blocks is refused, but among a few the one with JSON is found", () => {
  const empty = "```\n```\n";
  expect(readJsonReply(`${empty.repeat(5)}\`\`\`json\n{"a":1}\n\`\`\`\n`)).toEqual({ value: { a: 1 } });
  expect(readJsonReply(empty.repeat(200_000))).toEqual({ why: expect.stringContaining("fenced blocks") });
});
