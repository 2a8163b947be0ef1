// Estimates token counts in two ways: one is never too low (for money), one is close (for room in the context window).
import { lettersOf, type ModelMessage, type ModelRequest, type ToolOffer } from "./model-request.ts";

/** Role markers and separators that a chat template puts around one message; known templates need 3 to 8. */
const TOKENS_PER_MESSAGE = 16;
const TOKENS_PER_REQUEST = 16;
/** Bytes of the sentence that introduces a schema given in words, and of its message. */
const SCHEMA_WORDS = 120;

/**
 * Every token of a byte-level vocabulary covers at least one UTF-8 byte, so the number of bytes is an upper bound for the number of tokens.
 */
export function promptTokensAtMost(request: Pick<ModelRequest, "messages" | "schema" | "tools">): number {
  // Some models get the schema in a message of its own.
  const schema = request.schema === undefined ? 0 : Buffer.byteLength(JSON.stringify(request.schema)) + SCHEMA_WORDS;
  // Templates write a tool as JSON with words around it.
  const tools = (request.tools ?? []).reduce(
    (sum, tool) => sum + Buffer.byteLength(JSON.stringify(tool)) + TOKENS_PER_MESSAGE,
    0,
  );
  return request.messages.reduce(
    (sum, message) => sum + Buffer.byteLength(lettersOf(message)) + TOKENS_PER_MESSAGE * (1 + callsIn(message)),
    TOKENS_PER_REQUEST + schema + tools,
  );
}

function callsIn(message: ModelMessage): number {
  return message.role === "assistant" ? (message.toolCalls?.length ?? 0) : 0;
}

export function likelyPromptTokens(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + likelyMessageTokens(message), TOKENS_PER_REQUEST);
}

export function likelyMessageTokens(message: ModelMessage): number {
  return likelyTokens(lettersOf(message)) + TOKENS_PER_MESSAGE * (1 + callsIn(message));
}

/** The tokens of the window that the tool descriptions use. */
export function likelyToolTokens(tools: readonly ToolOffer[]): number {
  return tools.reduce((sum, tool) => sum + likelyTokens(JSON.stringify(tool)) + TOKENS_PER_MESSAGE, 0);
}

/** English prose has 4 to 5 characters per token, code and digits about 3, other scripts about 1. The estimate is rather too high. */
export function likelyTokens(text: string): number {
  let letters = 0;
  let rest = 0;
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) wide += 1;
    else if ((unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a) letters += 1;
    else rest += 1;
  }
  return Math.ceil(letters / 4 + rest / 2.5 + wide);
}
