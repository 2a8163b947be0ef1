// Shortens a conversation to fit the model's window and reports the omitted parts. So a grade for half a submission is visible as such and
// never counts as a grade for the whole submission.
import { likelyMessageTokens, likelyPromptTokens, likelyToolTokens } from "./estimate-tokens.ts";
import type { ModelMessage, ToolOffer } from "./model-request.ts";

export interface ContextRoom {
  /** Prompt and reply together. */
  readonly contextTokens: number;
  /** Reserved for the reply. */
  readonly maxOutputTokens: number;
  /** A longer user message keeps only its head and tail. Default: no cut. */
  readonly maxPromptCharacters?: number;
}

interface ContextCut {
  readonly droppedMessages: number;
  /** The characters of dropped messages and of the middles cut out of user messages. */
  readonly droppedCharacters: number;
}

export type FittedContext =
  | { readonly kind: "fits"; readonly messages: readonly ModelMessage[]; readonly cut: ContextCut }
  | { readonly kind: "too-long"; readonly code: "MODEL_CONTEXT_EXCEEDED"; readonly message: string };

/**
 * An error sentence if a conversation with its tools is too long for the window; null: it fits. No part of such a conversation can be
 * omitted.
 */
export function contextExcess(
  messages: readonly ModelMessage[],
  tools: readonly ToolOffer[],
  { contextTokens, maxOutputTokens }: ContextRoom,
): string | null {
  const tokens = likelyPromptTokens(messages) + likelyToolTokens(tools);
  const room = contextTokens - maxOutputTokens;
  if (tokens <= room) return null;
  return (
    `With what the tools gave the conversation needs about ${tokens} tokens, but the model has room for ${room} ` +
    `(${contextTokens} less ${maxOutputTokens} kept for the reply). Ask the tools for less, or take a model with a larger context.`
  );
}

export function fitContext(messages: readonly ModelMessage[], room: ContextRoom): FittedContext {
  let droppedCharacters = 0;
  const shortened = messages.map((message) => {
    if (message.role !== "user" || room.maxPromptCharacters === undefined) return message;
    const { text, cutCharacters } = shortenPrompt(message.content, room.maxPromptCharacters);
    droppedCharacters += cutCharacters;
    return cutCharacters === 0 ? message : { ...message, content: text };
  });

  const budget = room.contextTokens - room.maxOutputTokens;
  const dropped = new Set<number>();
  let tokens = likelyPromptTokens(shortened);
  const drop = (index: number, message: ModelMessage) => {
    dropped.add(index);
    tokens -= likelyMessageTokens(message);
    droppedCharacters += message.content.length;
  };
  const newest = shortened.findLastIndex((message) => message.role !== "system");
  for (const [index, message] of shortened.entries()) {
    if (index === newest) break;
    if (message.role === "system") continue;
    // An answer without its question is dropped too: endpoints require a conversation to start with the user.
    const orphan = dropped.size > 0 && message.role === "assistant";
    if (tokens > budget || orphan) drop(index, message);
    else break;
  }
  if (tokens > budget) {
    return {
      kind: "too-long",
      code: "MODEL_CONTEXT_EXCEEDED",
      message:
        `The system messages and the newest message need about ${tokens} tokens, but the model has room for ${budget} ` +
        `(${room.contextTokens} less ${room.maxOutputTokens} kept for the reply). Shorten the prompt, set a limit on prompt ` +
        "characters, lower the output tokens, or take a model with a larger context.",
    };
  }
  return {
    kind: "fits",
    messages: shortened.filter((_, index) => !dropped.has(index)),
    cut: { droppedMessages: dropped.size, droppedCharacters },
  };
}

/** Returns head and tail, `maxCharacters` together, with one line between them that states how much is missing. */
export function shortenPrompt(text: string, maxCharacters: number): { text: string; cutCharacters: number } {
  if (text.length <= maxCharacters) return { text, cutCharacters: 0 };
  const half = Math.floor(maxCharacters / 2);
  const headEnd = splitsPair(text, maxCharacters - half) ? maxCharacters - half - 1 : maxCharacters - half;
  const tailStart = splitsPair(text, text.length - half) ? text.length - half + 1 : text.length - half;
  const cutCharacters = tailStart - headEnd;
  return {
    text: `${text.slice(0, headEnd)}\n[... ${cutCharacters} characters cut ...]\n${text.slice(tailStart)}`,
    cutCharacters,
  };
}

function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
