// Two answers to "how many tokens is this": one that is never too low (money), one that is near (room in the context window).
import type { ModelMessage, ModelRequest } from "./model-request.ts";

/** Role markers and separators a chat template puts around one message; known templates need 3 to 8. */
const TOKENS_PER_MESSAGE = 16;
const TOKENS_PER_REQUEST = 16;

/** Every token of a byte-level vocabulary covers at least one UTF-8 byte, so bytes bound tokens from above. */
export function promptTokensAtMost(request: Pick<ModelRequest, "messages" | "schema">): number {
  const schema = request.schema === undefined ? 0 : Buffer.byteLength(JSON.stringify(request.schema));
  return request.messages.reduce(
    (sum, message) => sum + Buffer.byteLength(message.content) + TOKENS_PER_MESSAGE,
    TOKENS_PER_REQUEST + schema,
  );
}

export function likelyPromptTokens(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + likelyMessageTokens(message), TOKENS_PER_REQUEST);
}

export function likelyMessageTokens(message: ModelMessage): number {
  return likelyTokens(message.content) + TOKENS_PER_MESSAGE;
}

/** English prose runs at 4 to 5 characters a token, code and digits near 3, other scripts near 1. Errs to the high side. */
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
