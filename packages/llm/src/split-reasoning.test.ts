import { describe, expect, it } from "vitest";
import { splitReasoning } from "./split-reasoning.ts";

describe("splitting reasoning from an answer", () => {
  it.each([
    ["<think>hm</think>\n\nPoints: 7", "Points: 7", "hm"],
    ["<thinking>\nhm\n</thinking>Points: 7", "Points: 7", "hm"],
    ["<THINK>hm</Think> Points: 7", "Points: 7", "hm"],
    ["◁think▷hm◁/think▷Points: 7", "Points: 7", "hm"],
    ["\n</think>\nPoints: 7", "Points: 7", ""],
    ["hm, seven\n</think>\nPoints: 7", "Points: 7", "hm, seven"],
    ["<think>it never ends, Points: 0", "", "it never ends, Points: 0"],
    ["  \n<think>\nPoints: 0", "", "Points: 0"],
    ["Points: 7\n<think>and now", "Points: 7", "and now"],
    ["<think></think>Points: 7", "Points: 7", ""],
    ["<think>a</think>One. <think>b</think>Two.", "One. Two.", "a\n\nb"],
    ["<think>a <think> b</think> c</think>Points: 7", "Points: 7", "a <think> b\n\nc"],
    ["<think>```js\nlet a</think>Points: 7", "Points: 7", "```js\nlet a"],
    ["<think>hm</think>", "", "hm"],
    ["Use the <think> tag.\n<think>hm", "Use the <think> tag.", "hm"],
  ])("removes the reasoning of %j", (whole, text, reasoning) => {
    expect(splitReasoning(whole)).toEqual({ text, reasoning });
  });

  it.each([
    "Points: 7",
    "  Points: 7\n",
    "Write `<think>` and `</think>` around it.",
    "```xml\n<think>a</think>\n```\nPoints: 7",
    "Use the <think> tag.",
    "I think > you < think",
  ])("finds no reasoning in %j", (whole) => {
    expect(splitReasoning(whole)).toEqual({ text: whole, reasoning: "" });
  });
});
