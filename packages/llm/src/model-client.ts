// One request to an OpenAI-compatible endpoint, one reply or one ModelFailure. It never tries again by itself: retries are
// durable and belong to the engine, and a hidden second request would be a second bill outside the reservation.
import type { ClientOptions, OpenAI } from "openai";
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { z } from "zod";
import { likelyPromptTokens, likelyTokens } from "./estimate-tokens.ts";
import { endingOf } from "./finish-reason.ts";
import { bearerHeader, keyHeaders } from "./key-headers.ts";
import { costOf, findModel, type Model, type ModelCatalogue } from "./model-catalogue.ts";
import { isCut, ModelFailure, ReplyTooLarge, translateModelError } from "./model-failure.ts";
import {
  charactersOf,
  effectiveSettings,
  type ModelMessage,
  type ModelReply,
  type ModelRequest,
  type ReplySchema,
} from "./model-request.ts";
import { fetchInSlot, heardSlot, type InSlot, type ModelSlot, noLimit } from "./model-slot.ts";
import { createDeltaNeutraliser, neutraliseText } from "./neutralise-text.ts";
import { type RawReply, readCompletion, StreamedReply, UnusableReply } from "./read-completion.ts";
import { type Redactor, redactorOf } from "./redact-key.ts";
import { joined, splitReasoning } from "./split-reasoning.ts";
import { writeVectors } from "./vectors-text.ts";

const DEFAULT_BASE_URL = "https://api.openai.com/v1";
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_REPLY_BYTES = 4 * 1024 * 1024;

export interface ModelClientOptions {
  readonly baseUrl?: string;
  /** Absent: no Authorization header is sent, which local endpoints accept and the default one does not. */
  readonly apiKey?: string;
  /** That carries the key, in lower case. Absent: `authorization`, as a bearer token; any other holds the key alone. */
  readonly keyHeader?: string;
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
  /** Waited for when the request is ready to leave, and told when a reply that is read whole has arrived; `over` is the caller's. Absent: no limit. */
  readonly slot?: ModelSlot;
  /** Asks for a streamed reply; called with each piece of text as it comes, in order: reasoning in tags is still in it. */
  readonly onDelta?: (text: string) => void;
}

export interface ModelClient {
  /** Where it asks, without credentials: for people, and as the key of what workers share about it. */
  readonly endpoint: string;
  /** Rejects with a ModelFailure, nothing else, for whatever the endpoint or the network does. */
  complete(request: ModelRequest, options?: CallOptions): Promise<ModelReply>;
}

/** One per way of reading a reply: they differ in the fetch beneath. */
interface Clients {
  readonly whole: OpenAI;
  readonly streaming: OpenAI;
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
  const settings = {
    baseURL: baseUrl,
    // Given explicitly, all of them: the library otherwise reads the environment, which only packages/config may.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    organization: options.organization ?? null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    defaultHeaders: {
      "X-Stainless-Timeout": String(Math.ceil(timeoutMs / 1_000)),
      ...(apiKey === undefined ? { Authorization: null } : headersOfKey(apiKey, options.keyHeader)),
    },
    maxRetries: 0,
    // Ours covers the whole reply, and begins when the request leaves; the library's would count the wait for a slot. Longer than any of ours.
    timeout: 2 ** 30,
  } satisfies ClientOptions;
  let opened: Promise<Clients> | undefined;
  /** Read with the first request: 300 files that most commands never need. */
  const clients = (): Promise<Clients> => {
    opened ??= Promise.all([import("openai"), import("./fetch-whole.ts"), import("./guarded-fetch.ts")]).then(
      ([{ default: Client }, { createWholeFetch }, { guardedFetch }]) => ({
        whole: new Client({ ...settings, fetch: createWholeFetch(maxReplyBytes) }),
        streaming: new Client({ ...settings, fetch: fetchInSlot(guardedFetch(maxReplyBytes)) }),
      }),
    );
    return opened;
  };

  /** Models that refused a schema: from then on they are told of it in words. */
  const withoutSchemas = new Set<string>();
  const endpoint = `${origin}${pathname.replace(/(?<!\/)\/+$/, "")}`;
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

      const { whole: asking, streaming } = await clients();
      const limit = createTimeLimit(timeoutMs);
      /** Whether the endpoint may have it. Fetch's own way does not tell when it has a connection: there a request has left with its slot. */
      let left = false;
      const departure = {
        connecting() {
          left = false;
        },
        left() {
          left = true;
        },
      };
      const slot = heardSlot(call.slot ?? noLimit, {
        begun() {
          call.signal?.throwIfAborted();
          limit.start();
          left = true;
        },
        arrived: limit.stop,
      });
      const until = call.signal ? AbortSignal.any([call.signal, limit.signal]) : limit.signal;
      const inWords = !model.jsonSchema || withoutSchemas.has(model.name);
      // Another request than the one that was refused with its schema: an endpoint that honours the key would answer with the refusal.
      const another = request.schema !== undefined && inWords && model.jsonSchema;
      const { idempotencyKey } = call;
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { "Idempotency-Key": another ? `${idempotencyKey}-words` : idempotencyKey };
      const whole: Sending = { headers, fetchOptions: { slot, until, departure } satisfies InSlot };
      // The library ends a stream by its own signal, which follows this one.
      const stream = { headers, fetchOptions: { slot } satisfies InSlot, signal: until };
      try {
        call.signal?.throwIfAborted();
        if (request.embed !== undefined) return await embedded(asking, model, request, whole);
        const raw =
          call.onDelta === undefined
            ? await readWhole(asking, bodyOf(model, request, inWords), whole)
            : await readStream(streaming, bodyOf(model, request, inWords), stream, call.onDelta, maxReplyBytes);
        return priced(raw, model, request, redact);
      } catch (error) {
        if (!left && call.signal?.aborted) throw new ModelFailure("MODEL_ABORTED", "", { billed: "no" });
        const used = error instanceof UnusableReply ? error.reply : null;
        const failure = translateModelError(error, {
          sentSchema: request.schema !== undefined && !inWords,
          ...(used === null ? {} : { spent: priced(used, model, request, redact).usage }),
          model: model.name,
          endpoint,
          ...(apiKey === undefined ? {} : { apiKey }),
          timeoutMs,
          maxReplyBytes,
          left,
          timedOut: limit.signal.aborted,
          aborted: call.signal?.aborted ?? false,
          now: Date.now(),
        });
        if (failure.code === "MODEL_FORMAT_REFUSED") withoutSchemas.add(model.name);
        throw failure;
      } finally {
        limit.stop();
      }
    },
  };
}

/** What is sent beside or instead of the library's own `Authorization`. */
function headersOfKey(apiKey: string, header = bearerHeader): Record<string, string | null> {
  return header === bearerHeader ? {} : { Authorization: null, ...keyHeaders(apiKey, header) };
}

/** A timer that comes so late was held up: the process was paused. */
const lateMs = 1_000;
/** For a reply that arrived while the process was paused to be read. */
const readMs = 2_000;

/**
 * For one request, from when it leaves. A process that was paused sees its time-out before the reply that lies in its socket: the reply is paid
 * for, so there is a moment more to read it.
 */
function createTimeLimit(ms: number) {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const over = () => controller.abort();
  return {
    signal: controller.signal,
    start() {
      const due = performance.now() + ms;
      timer = setTimeout(() => {
        if (performance.now() - due < lateMs) over();
        else timer = setTimeout(over, readMs);
      }, ms);
    },
    stop: () => clearTimeout(timer),
  };
}

/** `fetchOptions`: an InSlot, by a type that the library does not compare with its own copy of fetch's. */
type Sending = { fetchOptions: object; headers: Record<string, string> };

async function readWhole(
  openai: OpenAI,
  body: ChatCompletionCreateParamsNonStreaming,
  sending: Sending,
): Promise<RawReply> {
  const sent: unknown = await openai.chat.completions.create(body, sending);
  return readCompletion(sent);
}

async function readStream(
  openai: OpenAI,
  body: ChatCompletionCreateParamsNonStreaming,
  sending: Sending & { readonly signal: AbortSignal },
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
  const reply = new StreamedReply();
  try {
    for await (const event of await openai.chat.completions.create(streaming, sending)) {
      const piece = reply.add(event);
      if (reply.bytes > maxReplyBytes) throw new ReplyTooLarge();
      emit(deltas.push(piece));
    }
  } catch (error) {
    // I3: once the finish reason is here the reply is whole, and losing it for want of its usage would pay for it twice.
    if (reply.finish === "" || !isCut(error)) throw error;
  }
  emit(deltas.flush());
  if (reply.finish === "") {
    // The library ends an aborted stream like a finished one.
    sending.signal.throwIfAborted();
    if (reply.events === 0) throw new ModelFailure("MODEL_REPLY_MALFORMED", "A stream was asked for and none came.");
    // Without any choice it is a reply, an empty one.
    if (reply.choices > 0) {
      const far = `${reply.events} events and ${reply.length} characters`;
      throw new ModelFailure("MODEL_CONNECTION_CUT", `The stream broke off after ${far}.`);
    }
  }
  return reply.whole();
}

const embeddingSchema = z.object({
  model: z.string().catch(""),
  data: z.array(z.object({ index: z.int().optional(), embedding: z.union([z.array(z.number()), z.string()]) })),
  usage: z.object({ prompt_tokens: z.int().nonnegative() }).optional().catch(undefined),
});

/** The texts of the messages as vectors, in their order, all of one length. */
async function embedded(openai: OpenAI, model: Model, request: ModelRequest, sending: Sending): Promise<ModelReply> {
  const input = request.messages.map(({ content }) => neutraliseText(content));
  const { dimensions } = request.embed ?? {};
  // Asked for by name: the library would ask for base64 otherwise, which some endpoints refuse.
  const body = { model: model.name, input, encoding_format: "float" as const };
  const sent: unknown = await openai.embeddings.create(
    { ...body, ...(dimensions === undefined ? {} : { dimensions }) },
    sending,
  );
  const parsed = embeddingSchema.parse(sent);
  const vectors = parsed.data
    .map((one, position) => ({
      at: one.index ?? position,
      vector: typeof one.embedding === "string" ? [] : one.embedding,
    }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ vector }) => vector);
  const [first = []] = vectors;
  const whole = vectors.every((vector) => vector.length === first.length && vector.every(Number.isFinite));
  if (vectors.length !== input.length || first.length === 0 || first.length > 8_192 || !whole) {
    const told = `${input.length} vectors of one length were asked for, and ${vectors.length} came.`;
    throw new ModelFailure("MODEL_REPLY_MALFORMED", told);
  }
  const promptTokens = parsed.usage?.prompt_tokens ?? likelyPromptTokens(request.messages);
  return {
    text: writeVectors(vectors),
    finishReason: "stop",
    usage: {
      ...{ promptTokens, completionTokens: 0, nanodollars: costOf(model, promptTokens, 0) },
      ...{ characters: charactersOf(request.messages), estimated: parsed.usage === undefined },
    },
    model: neutraliseText(parsed.model || model.name),
  };
}

function priced(raw: RawReply, model: Model, request: ModelRequest, redact: Redactor): ModelReply {
  const ending = raw.refusal === "" ? endingOf(raw.finish) : "refused";
  const clean = (text: string) => neutraliseText(redact(text));
  const split = splitReasoning(clean(raw.text));
  const text = raw.text === "" ? clean(raw.refusal) : split.text;
  const reasoning = joined([clean(raw.reasoning), split.reasoning]);
  const promptTokens = raw.usage?.prompt_tokens ?? likelyPromptTokens(request.messages);
  const completionTokens =
    raw.usage?.completion_tokens ??
    likelyTokens(
      raw.text + raw.reasoning + raw.refusal + raw.toolCalls.map((call) => call.name + call.arguments).join(""),
    );
  const toolCalls = raw.toolCalls.map(({ id, name, arguments: given }) => ({
    id: clean(id),
    name: clean(name),
    arguments: clean(given),
  }));
  const asked = charactersOf([{ role: "assistant", content: "", toolCalls }]);
  return {
    text,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    finishReason: ending === "failed" || ending === "unknown" ? "other" : ending,
    ...(ending === "refused" && raw.finish !== "" ? { ending: clean(raw.finish) } : {}),
    usage: {
      promptTokens,
      completionTokens,
      nanodollars: costOf(model, promptTokens, completionTokens),
      characters: charactersOf(request.messages) + text.length + reasoning.length + asked,
      estimated: raw.usage === undefined,
    },
    model: clean(raw.model || model.name),
  };
}

function schemaInWords({ schema }: ReplySchema): string {
  return `Reply with one JSON document that fits this JSON Schema, and with nothing else:\n${JSON.stringify(schema)}`;
}

function messageOf(message: ModelMessage): ChatCompletionMessageParam {
  const content = neutraliseText(message.content);
  if (message.role === "tool") return { role: "tool", content, tool_call_id: message.callId };
  if (message.role !== "assistant" || message.toolCalls === undefined) return { role: message.role, content };
  const tool_calls = message.toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: neutraliseText(given) },
  }));
  return { role: "assistant", content: content === "" ? null : content, tool_calls };
}

/** `inWords`: the schema is told in a last message; not all endpoints take another way. */
function bodyOf(model: Model, request: ModelRequest, inWords: boolean): ChatCompletionCreateParamsNonStreaming {
  const { settings } = effectiveSettings(model, request.settings);
  const { schema } = request;
  const told = schema === undefined || !inWords ? null : schemaInWords(schema);
  return {
    model: model.name,
    messages: [
      ...request.messages.map(messageOf),
      ...(told === null ? [] : [{ role: "user" as const, content: told }]),
    ],
    ...(request.tools === undefined || request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map(({ name, description, schema }) => ({
            type: "function" as const,
            function: { name, description: neutraliseText(description), parameters: { ...schema } },
          })),
          ...(request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
        }),
    // Reasoning models know only the new name of the limit, many self-hosted endpoints only the old one.
    ...(model.reasoning
      ? { max_completion_tokens: settings.maxOutputTokens }
      : { max_tokens: settings.maxOutputTokens }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.topP === undefined ? {} : { top_p: settings.topP }),
    ...(settings.frequencyPenalty === undefined ? {} : { frequency_penalty: settings.frequencyPenalty }),
    ...(settings.presencePenalty === undefined ? {} : { presence_penalty: settings.presencePenalty }),
    ...(settings.stop === undefined || settings.stop.length === 0 ? {} : { stop: [...settings.stop] }),
    ...(schema === undefined || inWords
      ? {}
      : { response_format: { type: "json_schema", json_schema: { ...schema } } }),
  };
}
