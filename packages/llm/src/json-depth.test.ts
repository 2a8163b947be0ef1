import { expect, it } from "vitest";
import { countValues, mostDepth } from "./json-depth.ts";
import { readJsonReply } from "./json-in-reply.ts";

it("counts values outside of texts, and names what is nested too deep", () => {
  expect(countValues('{"a": [1, 2, "[[[,,,\\"[["]}')).toBe(5);
  expect(countValues("[".repeat(mostDepth))).toBe(mostDepth + 1);
  expect(countValues("[".repeat(2_000_000))).toBe(null);
  expect(readJsonReply("[".repeat(2_000_000))).toEqual({ why: expect.stringContaining("nested") });
});

it("gives up a reply of thousands of fenced blocks, and still finds the one that holds JSON among a few", () => {
  const empty = "```\n```\n";
  expect(readJsonReply(`${empty.repeat(5)}\`\`\`json\n{"a":1}\n\`\`\`\n`)).toEqual({ value: { a: 1 } });
  expect(readJsonReply(empty.repeat(200_000))).toEqual({ why: expect.stringContaining("fenced blocks") });
});
