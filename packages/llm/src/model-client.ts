// One request to an OpenAI-compatible endpoint, one reply or one ModelFailure. It never tries again by itself: retries are
// durable and belong to the engine, and a hidden second request would be a second bill outside the reservation.
import OpenAI, { APIError } from "openai";
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from "openai/resources/chat/completions";
import { z } from "zod";
import { likelyPromptTokens, likelyTokens } from "./estimate-tokens.ts";
import { costOf, findModel, type Model, type ModelCatalogue } from "./model-catalogue.ts";
import { isCut, ModelFailure, ReplyOfWrongKind, ReplyTooLarge, translateModelError } from "./model-failure.ts";
import { effectiveSettings, type ModelReply, type ModelRequest } from "./model-request.ts";
import { createDeltaNeutraliser, neutraliseText } from "./neutralise-text.ts";
import { patientFetch } from "./patient-fetch.ts";
import { type Redactor, redactorOf } from "./redact-key.ts";
import { joined, splitReasoning } from "./split-reasoning.ts";

const DEFAULT_BASE_URL = "https://api.openai.com/v1";
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_REPLY_BYTES = 4 * 1024 * 1024;

export interface ModelClientOptions {
  readonly baseUrl?: string;
  /** Absent: no Authorization header is sent, which local endpoints accept and the default one does not. */
  readonly apiKey?: string;
  readonly organization?: string;
  readonly catalogue: ModelCatalogue;
  /** From the request to the last byte of its reply. */
  readonly timeoutMs?: number;
  /** Of the HTTP body; of the text and of each event when the reply is streamed. */
  readonly maxReplyBytes?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /** Asks for a streamed reply; called with each piece of text as it comes, in order: reasoning in tags is still in it. */
  readonly onDelta?: (text: string) => void;
}

export interface ModelClient {
  /** Where it asks, without credentials: for people, and as the key of what workers share about it. */
  readonly endpoint: string;
  /** Rejects with a ModelFailure, nothing else, for whatever the endpoint or the network does. */
  complete(request: ModelRequest, options?: CallOptions): Promise<ModelReply>;
}

const usageSchema = z.object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() });

/** A vendor's extra field must not make a reply unreadable. */
const loose = z.unknown().optional();

/** Text, or a list of parts of which some are thoughts. */
const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string().catch(""), text: loose, thinking: loose })), z.null()])
  .optional()
  .transform((content) => {
    if (!Array.isArray(content)) return { text: content ?? "", reasoning: "" };
    const thought = content.filter(({ type }) => /think|reason/.test(type));
    const said = content.filter((part) => !thought.includes(part));
    return {
      text: said.map(({ text }) => textIn(text)).join(""),
      reasoning: thought.map(({ text, thinking }) => textIn(thinking) || textIn(text)).join(""),
    };
  });

const messageShape = {
  content: contentSchema,
  refusal: z.string().nullish(),
  reasoning_content: loose,
  reasoning: loose,
  reasoning_details: loose,
  tool_calls: loose,
  function_call: loose,
};

const replySchema = z.object({
  model: z.string().catch(""),
  choices: z.array(z.object({ finish_reason: z.string().nullish(), message: z.object(messageShape) })),
  usage: usageSchema.optional().catch(undefined),
});

const chunkSchema = z.object({
  model: z.string().catch(""),
  choices: z
    .array(z.object({ finish_reason: z.string().nullish(), delta: z.object(messageShape).nullish() }))
    .default([]),
  usage: usageSchema.nullish().catch(undefined),
});

/** Some gateways send an error with status 200. */
const errorSchema = z.object({
  choices: z.undefined().optional(),
  error: z.looseObject({ message: z.string().catch("no reason given"), code: z.unknown().optional() }),
});

/** Text in a field that vendors fill as they like: a text, or texts in lists and objects. */
function textIn(field: unknown): string {
  if (typeof field === "string") return field;
  if (Array.isArray(field)) return field.map(textIn).join("");
  if (typeof field !== "object" || field === null) return "";
  const { text, content, summary } = field as Record<string, unknown>;
  return textIn(text) || textIn(content) || textIn(summary);
}

function thoughtsIn(message: z.infer<z.ZodObject<typeof messageShape>>): string {
  // The fields repeat each other where there are several.
  return (
    textIn(message.reasoning_content) ||
    textIn(message.reasoning) ||
    textIn(message.reasoning_details) ||
    message.content.reasoning
  );
}

function wantsTools({ tool_calls, function_call }: { tool_calls?: unknown; function_call?: unknown }): boolean {
  return (Array.isArray(tool_calls) && tool_calls.length > 0) || (typeof function_call === "object" && !!function_call);
}

/** A reply before it is priced. */
interface RawReply {
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly tools: boolean;
  readonly refusal: string;
  readonly finish: string;
  readonly usage: z.infer<typeof usageSchema> | undefined;
}

export function createModelClient(options: ModelClientOptions): ModelClient {
  const baseUrl = options.baseUrl ?? DEFAULT_BASE_URL;
  const { catalogue } = options;
  // A key pasted into a file often brings its line end along.
  const apiKey = options.apiKey?.trim() || undefined;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxReplyBytes = options.maxReplyBytes ?? DEFAULT_MAX_REPLY_BYTES;
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new ModelFailure("MODEL_URL_INVALID", `It is "${baseUrl}".`);
  }
  const { origin, pathname, username, password } = new URL(baseUrl);
  // Both would be refused by fetch with a message that quotes the secret.
  if (username !== "" || password !== "") {
    throw new ModelFailure("MODEL_URL_INVALID", "It must not hold a user name or password; the key is OPENAI_API_KEY.");
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ModelFailure("MODEL_KEY_REFUSED", "It holds spaces or characters that no HTTP header can carry.");
  }
  const openai = new OpenAI({
    baseURL: baseUrl,
    // Given explicitly, all of them: the library otherwise reads the environment, which only packages/config may.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    organization: options.organization ?? null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    ...(apiKey === undefined ? { defaultHeaders: { Authorization: null } } : {}),
    maxRetries: 0,
    // Ours covers the whole reply and fires first; the library's ends with the headers of a stream.
    timeout: timeoutMs + 60_000,
    fetch: guardedFetch(maxReplyBytes),
  });

  const endpoint = `${origin}${pathname.replace(/\/+$/, "")}`;
  const redact = redactorOf(apiKey, "reply");

  return {
    endpoint,
    async complete(request, call = {}) {
      const lookup = findModel(catalogue, request.model);
      if (!lookup.ok) throw new ModelFailure(lookup.code, lookup.message);
      const { model } = lookup;
      if (apiKey === undefined && baseUrl === DEFAULT_BASE_URL) {
        throw new ModelFailure("MODEL_KEY_MISSING", `(model ${model.name} at ${baseUrl})`);
      }

      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), timeoutMs);
      const signal = call.signal ? AbortSignal.any([call.signal, timeout.signal]) : timeout.signal;
      const sending = {
        signal,
        ...(call.idempotencyKey === undefined ? {} : { headers: { "Idempotency-Key": call.idempotencyKey } }),
      };
      try {
        if (call.signal?.aborted) throw new ModelFailure("MODEL_ABORTED", "", { billed: "no" });
        const raw =
          call.onDelta === undefined
            ? await readWhole(openai, bodyOf(model, request), sending)
            : await readStream(openai, bodyOf(model, request), sending, call.onDelta, maxReplyBytes);
        return priced(raw, model, request, redact);
      } catch (error) {
        throw translateModelError(error, {
          model: model.name,
          endpoint,
          ...(apiKey === undefined ? {} : { apiKey }),
          timeoutMs,
          maxReplyBytes,
          timedOut: timeout.signal.aborted,
          aborted: call.signal?.aborted ?? false,
          now: Date.now(),
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

type Sending = { signal: AbortSignal; headers?: Record<string, string> };

async function readWhole(
  openai: OpenAI,
  body: ChatCompletionCreateParamsNonStreaming,
  sending: Sending,
): Promise<RawReply> {
  const sent: unknown = await openai.chat.completions.create(body, sending);
  const wrong = errorSchema.safeParse(sent);
  if (wrong.success) {
    const { error } = wrong.data;
    const status = Number(error.code);
    throw new APIError(status >= 400 && status < 600 ? status : undefined, error, error.message, new Headers());
  }
  const reply = replySchema.parse(sent);
  const message = reply.choices[0]?.message;
  return {
    model: reply.model,
    text: message?.content.text ?? "",
    reasoning: message === undefined ? "" : thoughtsIn(message),
    tools: message !== undefined && wantsTools(message),
    refusal: message?.refusal ?? "",
    finish: reply.choices[0]?.finish_reason ?? "",
    usage: reply.usage,
  };
}

async function readStream(
  openai: OpenAI,
  body: ChatCompletionCreateParamsNonStreaming,
  sending: Sending,
  onDelta: (text: string) => void,
  maxReplyBytes: number,
): Promise<RawReply> {
  const streaming: ChatCompletionCreateParamsStreaming = {
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  };
  const deltas = createDeltaNeutraliser();
  const emit = (text: string) => {
    if (text !== "") onDelta(text);
  };
  let [model, text, reasoning, refusal, finish] = ["", "", "", "", ""];
  let tools = false;
  let usage: RawReply["usage"];
  let bytes = 0;
  let events = 0;
  let choices = 0;
  try {
    for await (const event of await openai.chat.completions.create(streaming, sending)) {
      const chunk = chunkSchema.parse(event);
      events += 1;
      choices += chunk.choices.length;
      const choice = chunk.choices[0];
      const delta = choice?.delta ?? undefined;
      const piece = delta?.content.text ?? "";
      const thought = delta === undefined ? "" : thoughtsIn(delta);
      bytes += Buffer.byteLength(piece) + Buffer.byteLength(thought) + Buffer.byteLength(delta?.refusal ?? "");
      if (bytes > maxReplyBytes) throw new ReplyTooLarge();
      model = chunk.model || model;
      text += piece;
      reasoning += thought;
      refusal += delta?.refusal ?? "";
      tools ||= delta !== undefined && wantsTools(delta);
      finish = choice?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
      emit(deltas.push(piece));
    }
  } catch (error) {
    // I3: once the finish reason is here the reply is whole, and losing it for want of its usage would pay for it twice.
    if (finish === "" || !isCut(error)) throw error;
  }
  emit(deltas.flush());
  if (finish === "") {
    // The library ends an aborted stream like a finished one.
    sending.signal.throwIfAborted();
    if (events === 0) throw new ModelFailure("MODEL_REPLY_MALFORMED", "A stream was asked for and none came.");
    // Without any choice it is a reply, an empty one.
    if (choices > 0) {
      const far = `${events} events and ${text.length} characters`;
      throw new ModelFailure("MODEL_CONNECTION_CUT", `The stream broke off after ${far}.`);
    }
  }
  return { model, text, reasoning, tools, refusal, finish, usage };
}

function priced(raw: RawReply, model: Model, request: ModelRequest, redact: Redactor): ModelReply {
  const refused = raw.refusal !== "" || raw.finish === "content_filter";
  const clean = (text: string) => neutraliseText(redact(text));
  const split = splitReasoning(clean(raw.text));
  const text = raw.text === "" ? clean(raw.refusal) : split.text;
  const reasoning = joined([clean(raw.reasoning), split.reasoning]);
  const promptTokens = raw.usage?.prompt_tokens ?? likelyPromptTokens(request.messages);
  const completionTokens = raw.usage?.completion_tokens ?? likelyTokens(raw.text + raw.reasoning + raw.refusal);
  const sent = request.messages.reduce((sum, message) => sum + message.content.length, 0);
  return {
    text,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(raw.tools ? { toolCalls: true } : {}),
    finishReason: refused ? "refused" : raw.finish === "stop" || raw.finish === "length" ? raw.finish : "other",
    usage: {
      promptTokens,
      completionTokens,
      nanodollars: costOf(model, promptTokens, completionTokens),
      characters: sent + text.length + reasoning.length,
      estimated: raw.usage === undefined,
    },
    model: clean(raw.model || model.name),
  };
}

function bodyOf(model: Model, request: ModelRequest): ChatCompletionCreateParamsNonStreaming {
  const { settings } = effectiveSettings(model, request.settings);
  return {
    model: model.name,
    messages: request.messages.map(({ role, content }) => ({ role, content: neutraliseText(content) })),
    // Reasoning models know only the new name of the limit, many self-hosted endpoints only the old one.
    ...(model.reasoning
      ? { max_completion_tokens: settings.maxOutputTokens }
      : { max_tokens: settings.maxOutputTokens }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.topP === undefined ? {} : { top_p: settings.topP }),
    ...(settings.frequencyPenalty === undefined ? {} : { frequency_penalty: settings.frequencyPenalty }),
    ...(settings.presencePenalty === undefined ? {} : { presence_penalty: settings.presencePenalty }),
    ...(settings.stop === undefined || settings.stop.length === 0 ? {} : { stop: [...settings.stop] }),
    ...(request.schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { ...request.schema } } }),
  };
}

const NEWLINE = 0x0a;

/** fetch, with the body refused as soon as it is too large or plainly not a reply, so it is never held whole. */
function guardedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await patientFetch(input, init);
    const contentType = response.headers.get("content-type") ?? "none";
    const streamed = contentType.startsWith("text/event-stream");
    if (response.ok && !streamed && !/\bjson\b/.test(contentType)) {
      await response.body?.cancel();
      throw new ReplyOfWrongKind(contentType);
    }
    if (response.body === null) return response;
    const declared = response.headers.get("content-length");
    if (declared !== null && !streamed && response.headers.get("content-encoding") === null) {
      if (Number(declared) <= maxBytes) return response;
      await response.body.cancel();
      throw new ReplyTooLarge();
    }
    let bytes = 0;
    const guard = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        // Of a stream only the current event is held; its text is counted by its reader.
        const newline = streamed ? chunk.lastIndexOf(NEWLINE) : -1;
        bytes = newline === -1 ? bytes + chunk.length : chunk.length - newline - 1;
        if (bytes > maxBytes) controller.error(new ReplyTooLarge());
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(guard), response);
  };
}
