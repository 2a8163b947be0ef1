import { describe, expect, it } from "vitest";
import { likelyPromptTokens } from "./estimate-tokens.ts";
import { fitContext, shortenPrompt } from "./fit-context.ts";
import type { ModelMessage } from "./model-request.ts";

const turn = (n: number): ModelMessage[] => [
  { role: "user", content: `question ${n} ${"word ".repeat(100)}` },
  { role: "assistant", content: `answer ${n} ${"word ".repeat(100)}` },
];
const system: ModelMessage = { role: "system", content: "You mark essays." };
const last: ModelMessage = { role: "user", content: "And now?" };
const talk = [system, ...turn(1), ...turn(2), ...turn(3), last];
const wide = { contextTokens: 100_000, maxOutputTokens: 1_000 };

describe("fitting a conversation into the model's window", () => {
  it("changes nothing when there is room, and reports no cut", () => {
    expect(fitContext(talk, wide)).toEqual({
      kind: "fits",
      messages: talk,
      cut: { droppedMessages: 0, droppedCharacters: 0 },
    });
  });

  it("drops the oldest turns first, keeps the system message and the newest turns, and counts the dropped text", () => {
    const kept = [system, ...turn(3), last];
    const fitted = fitContext(talk, { contextTokens: likelyPromptTokens(kept) + 100, maxOutputTokens: 100 });
    const gone = [...turn(1), ...turn(2)];
    expect(fitted).toEqual({
      kind: "fits",
      messages: kept,
      cut: { droppedMessages: 4, droppedCharacters: gone.reduce((sum, { content }) => sum + content.length, 0) },
    });
  });

  it("drops an answer whose question was dropped", () => {
    const oneMore = [system, ...turn(2).slice(1), ...turn(3), last];
    const fitted = fitContext(talk, { contextTokens: likelyPromptTokens(oneMore), maxOutputTokens: 0 });
    expect(fitted).toMatchObject({ kind: "fits", messages: [system, ...turn(3), last] });
  });

  it("returns an error instead of dropping the newest or the system message", () => {
    expect(fitContext(talk, { contextTokens: 40, maxOutputTokens: 10 })).toMatchObject({
      kind: "too-long",
      code: "MODEL_CONTEXT_EXCEEDED",
      message: expect.stringContaining("room for 30"),
    });
  });

  it("shortens only user messages, and only if a limit is set", () => {
    const long = "x".repeat(5_000);
    const messages: ModelMessage[] = [
      { role: "system", content: long },
      { role: "user", content: long },
    ];
    expect(fitContext(messages, wide)).toMatchObject({ messages });
    const fitted = fitContext(messages, { ...wide, maxPromptCharacters: 1_000 });
    expect(fitted).toMatchObject({ kind: "fits", cut: { droppedMessages: 0, droppedCharacters: 4_000 } });
    expect(fitted.kind === "fits" && fitted.messages[0]?.content).toBe(long);
  });
});

describe("shortening a prompt", () => {
  it("keeps head and tail and states the size of the gap", () => {
    expect(shortenPrompt("abcdefghij", 4)).toEqual({ text: "ab\n[... 6 characters cut ...]\nij", cutCharacters: 6 });
    expect(shortenPrompt("abcdefghij", 5).text).toBe("abc\n[... 5 characters cut ...]\nij");
  });

  it("does not change a prompt of exactly the allowed length", () => {
    expect(shortenPrompt("abcd", 4)).toEqual({ text: "abcd", cutCharacters: 0 });
  });

  it("never cuts a character in two", () => {
    const { text } = shortenPrompt("😀😀😀😀😀😀", 6);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toBe("😀\n[... 8 characters cut ...]\n😀");
  });
});
