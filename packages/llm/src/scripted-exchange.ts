/** One chat request and its reply, whole or streamed, in the form of the OpenAI protocol (scripted-server.ts). */
import type { ServerResponse } from "node:http";
import { z } from "zod";
import type { ScriptMatch, SentCall } from "./match-script.ts";
import { write } from "./scripted-http.ts";

const contentSchema = z
  .union([z.string(), z.array(z.object({ text: z.string().optional() })), z.null()])
  .optional()
  .transform((content) => (Array.isArray(content) ? content.map(({ text }) => text ?? "").join("") : (content ?? "")));

export const chatSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: contentSchema })).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
});
export type Chat = z.infer<typeof chatSchema>;

export type Matched = Extract<ScriptMatch, { kind: "matched" }>;

type StreamedCall = ReturnType<typeof sentCall>;

/** One chat request that is being answered. */
export interface Exchange {
  readonly response: ServerResponse;
  readonly chat: Chat;
  readonly id: string;
  readonly text: string;
  readonly calls: readonly StreamedCall[];
  readonly reasoning: string | undefined;
  readonly finish: string;
  readonly usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export function exchangeOf(response: ServerResponse, chat: Chat, number: number, match: Matched): Exchange {
  const { usage: given, finish } = match.answer;
  const prompt = given?.prompt ?? chat.messages.reduce((sum, { content }) => sum + tokensOf(content) + 4, 0);
  const limit = chat.max_completion_tokens ?? chat.max_tokens ?? Number.POSITIVE_INFINITY;
  const asked = match.calls.map((call) => call.name + call.arguments).join("");
  const wanted = given?.completion ?? tokensOf(match.text + asked);
  // A computed usage respects the request's limit, as a real endpoint does. An explicit usage is used unchanged.
  const cut = given === undefined && wanted > limit;
  const completion = cut ? limit : wanted;
  return {
    response,
    chat,
    id: `chatcmpl-scripted-${number}`,
    text: cut
      ? Buffer.from(match.text)
          .subarray(0, limit * BYTES_PER_TOKEN)
          .toString()
          .replace(/\uFFFD$/, "")
      : match.text,
    calls: cut ? [] : match.calls.map((call, index) => sentCall(call, index, number)),
    reasoning: match.answer.reasoning,
    finish: cut ? "length" : match.calls.length > 0 && finish === "stop" ? "tool_calls" : finish,
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

function sentCall({ id, name, arguments: given }: SentCall, index: number, request: number) {
  return { index, id: id ?? `call_${request}_${index + 1}`, type: "function", function: { name, arguments: given } };
}

const BYTES_PER_TOKEN = 4;

export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function completionOf({ id, chat, text, calls, reasoning, finish, usage }: Exchange) {
  const thought = reasoning === undefined ? {} : { reasoning_content: reasoning };
  const asked = calls.length === 0 ? {} : { tool_calls: calls };
  const content = text === "" && calls.length > 0 ? null : text;
  const message = { role: "assistant", content, refusal: null, ...thought, ...asked };
  return {
    id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}

export function chunkOf({ id, chat }: Exchange, delta: object, finish: string | null) {
  return {
    id,
    object: "chat.completion.chunk",
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

export function beginStream(exchange: Exchange): void {
  exchange.response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
}

export async function sendEvent(response: ServerResponse, event: unknown): Promise<void> {
  await write(response, `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
}

export async function sendStream(exchange: Exchange): Promise<void> {
  const { response, chat, text, calls, reasoning, finish, usage } = exchange;
  beginStream(exchange);
  await sendEvent(response, chunkOf(exchange, { role: "assistant", content: "" }, null));
  if (reasoning !== undefined) await sendEvent(response, chunkOf(exchange, { reasoning_content: reasoning }, null));
  for (const piece of text.match(/.{1,24}/gsu) ?? [])
    await sendEvent(response, chunkOf(exchange, { content: piece }, null));
  for (const call of calls) await sendCallPieces(exchange, call);
  await sendEvent(response, chunkOf(exchange, {}, finish));
  if (chat.stream_options?.include_usage) {
    await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [], usage });
  }
  await sendEvent(response, "[DONE]");
  response.end();
}

/** As endpoints do: id and name first, then the arguments in pieces under the same index. */
async function sendCallPieces(exchange: Exchange, call: StreamedCall): Promise<void> {
  const { index, id, type, function: called } = call;
  const piece = (part: object) => sendEvent(exchange.response, chunkOf(exchange, { tool_calls: [part] }, null));
  await piece({ index, id, type, function: { name: called.name, arguments: "" } });
  for (const text of called.arguments.match(/.{1,24}/gsu) ?? []) await piece({ index, function: { arguments: text } });
}
