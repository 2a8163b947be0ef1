/** Reading replies of models and messages of endpoints costs work in proportion to their length. */
import { describe, expect, it } from "vitest";
import { growthOfWork } from "../../../tests/support/count-work.ts";
import { readJsonReply } from "./json-in-reply.ts";
import { redactorOf } from "./redact-key.ts";
import { splitReasoning } from "./split-reasoning.ts";

const key = "sk-test-0123456789abcdef";
const readers: Record<string, (text: string) => unknown> = {
  "taking a key out of a reply": (text) => redactorOf(key, "reply")(text),
  "taking a key out of a failure": (text) => redactorOf(key, "failure")(text),
  "splitting off the reasoning": splitReasoning,
  "finding the JSON of a reply": readJsonReply,
  "finding the JSON in an open fence": (text) => readJsonReply(`\`\`\`json\n${text}`),
};
const units = [
  key.slice(0, 11),
  "s",
  "=",
  " ",
  "\n",
  "`",
  "<think>",
  "</think>",
  "`<think>`",
  "<think></think>",
  " <think>\n",
  "`<think>",
  "```json\n",
];

describe.each(Object.entries(readers))("reading foreign text with %s", (_, read) => {
  it.each(units)("costs linear work for a text of %j", (unit) => {
    const of = (count: number) => () => read(`x${unit.repeat(count)}x`);
    expect(growthOfWork(of(1_000), of(10_000))).toBeLessThan(20);
  });
});
