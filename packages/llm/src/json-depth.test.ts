import { expect, it } from "vitest";
import { countValues, mostDepth } from "./json-depth.ts";
import { readJsonReply } from "./json-in-reply.ts";

it("counting JSON values ignores the content of strings and refuses values that are nested too deep", () => {
  expect(countValues('{"a": [1, 2, "[[[,,,\\"[["]}')).toBe(5);
  expect(countValues("[".repeat(mostDepth))).toBe(mostDepth + 1);
  expect(countValues("[".repeat(2_000_000))).toBe(null);
  expect(readJsonReply("[".repeat(2_000_000))).toEqual({ why: expect.stringContaining("nested") });
});

it("a reply with thousands of fenced blocks is refused, but among a few the one with JSON is found", () => {
  const empty = "```\n```\n";
  expect(readJsonReply(`${empty.repeat(5)}\`\`\`json\n{"a":1}\n\`\`\`\n`)).toEqual({ value: { a: 1 } });
  expect(readJsonReply(empty.repeat(200_000))).toEqual({ why: expect.stringContaining("fenced blocks") });
});
