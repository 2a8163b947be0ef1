// Sends one request to an OpenAI-compatible endpoint and returns one reply or one ModelFailure. It never retries itself: retries are
// durable and belong to the engine. A hidden second request would be a second bill outside the reservation.
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
  /** Default: no Authorization header is sent. Local endpoints accept this, the default endpoint does not. */
  readonly apiKey?: string;
  /** The header with the key, in lower case. Default: `authorization`, as a bearer token. Any other header contains only the key. */
  readonly keyHeader?: string;
  readonly organization?: string;
  readonly catalogue: ModelCatalogue;
  /** The time from the request to the last byte of its reply. */
  readonly timeoutMs?: number;
  /** The maximum size of the HTTP body; for a streamed reply, of the text and of each event. */
  readonly maxReplyBytes?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /**
   * The request waits for this slot when it is ready to leave, and reports to it when a reply that is read whole has arrived. The caller
   * must call `over`. Default: no limit.
   */
  readonly slot?: ModelSlot;
  /** Requests a streamed reply. Called with each piece of text in order; the text still contains reasoning in tags. */
  readonly onDelta?: (text: string) => void;
}

export interface ModelClient {
  /** The endpoint's address without credentials: shown to people, and the key of the state that workers share about it. */
  readonly endpoint: string;
  /** Rejects only with a ModelFailure, for any problem of the endpoint or the network. */
  complete(request: ModelRequest, options?: CallOptions): Promise<ModelReply>;
}

/** One client per way of reading a reply: they use different fetch functions. */
interface Clients {
  readonly whole: OpenAI;
  readonly streaming: OpenAI;
}

export function createModelClient(options: ModelClientOptions): ModelClient {
  const baseUrl = options.baseUrl ?? DEFAULT_BASE_URL;
  const { catalogue } = options;
  // A key pasted into a file often includes its line end.
  const apiKey = options.apiKey?.trim() || undefined;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxReplyBytes = options.maxReplyBytes ?? DEFAULT_MAX_REPLY_BYTES;
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new ModelFailure("MODEL_URL_INVALID", `It is "${baseUrl}".`);
  }
  const { origin, pathname, username, password } = new URL(baseUrl);
  // fetch would refuse both with a message that quotes the secret.
  if (username !== "" || password !== "") {
    throw new ModelFailure(
      "MODEL_URL_INVALID",
      "It must not contain a user name or password; the key is OPENAI_API_KEY.",
    );
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ModelFailure("MODEL_KEY_REFUSED", "It contains spaces or characters that no HTTP header can carry.");
  }
  const settings = {
    baseURL: baseUrl,
    // All options are set explicitly: otherwise the library reads the environment, which only packages/config may do.
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
    // Our own time limit covers the whole reply and starts when the request leaves. The library's limit would include the wait for a slot,
    // so it is longer than any of ours.
    timeout: 2 ** 30,
  } satisfies ClientOptions;
  let opened: Promise<Clients> | undefined;
  /** Loaded with the first request: 300 files that most commands never need. */
  const clients = (): Promise<Clients> => {
    opened ??= Promise.all([import("openai"), import("./fetch-whole.ts"), import("./guarded-fetch.ts")]).then(
      ([{ default: Client }, { createWholeFetch }, { guardedFetch }]) => ({
        whole: new Client({ ...settings, fetch: createWholeFetch(maxReplyBytes) }),
        streaming: new Client({ ...settings, fetch: fetchInSlot(guardedFetch(maxReplyBytes)) }),
      }),
    );
    return opened;
  };

  /** Models that refused a schema: from then on they get it in words. */
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
      /**
       * Whether the endpoint may have received the request. fetch itself does not report when it has a connection: there, a request counts
       * as sent once it has its slot.
       */
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
      // This request differs from the refused one with a schema. An endpoint that honours the idempotency key would otherwise repeat its
      // refusal.
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

/** The headers sent besides or instead of the library's own `Authorization`. */
function headersOfKey(apiKey: string, header = bearerHeader): Record<string, string | null> {
  return header === bearerHeader ? {} : { Authorization: null, ...keyHeaders(apiKey, header) };
}

/** If a timer fires this late, the process was paused. */
const lateMs = 1_000;
/** The time to read a reply that arrived while the process was paused. */
const readMs = 2_000;

/**
 * The time limit of one request, from when it leaves. A process that was paused sees the timeout before the reply in its socket. The reply
 * is paid for, so there is a short extra time to read it.
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

/** `fetchOptions`: an InSlot. Its type is `object`, so that the library does not compare it with its own copy of fetch's types. */
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
    // I3: once the finish reason is here, the reply is complete. Dropping it because its usage is missing would pay for it twice.
    if (reply.finish === "" || !isCut(error)) throw error;
  }
  emit(deltas.flush());
  if (reply.finish === "") {
    // The library ends an aborted stream like a finished one.
    sending.signal.throwIfAborted();
    if (reply.events === 0)
      throw new ModelFailure("MODEL_REPLY_MALFORMED", "The endpoint did not send the requested stream.");
    // A stream without any choice counts as an empty reply.
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

/** Returns the texts of the messages as vectors, in their order, all of one length. */
async function embedded(openai: OpenAI, model: Model, request: ModelRequest, sending: Sending): Promise<ModelReply> {
  const input = request.messages.map(({ content }) => neutraliseText(content));
  const { dimensions } = request.embed ?? {};
  // Set explicitly: otherwise the library requests base64, which some endpoints refuse.
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
    const told = `${input.length} vectors of the same length were requested, but ${vectors.length} were returned.`;
    throw new ModelFailure("MODEL_REPLY_MALFORMED", told);
  }
  const promptTokens = parsed.usage?.prompt_tokens ?? likelyPromptTokens(request.messages);
  return {
    text: writeVectors(vectors),
    finishReason: "stop",
    usage: {
      promptTokens,
      completionTokens: 0,
      nanodollars: costOf(model, promptTokens, 0),
      characters: charactersOf(request.messages),
      estimated: parsed.usage === undefined,
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

/** `inWords`: the schema is written into a last message, because not all endpoints accept another way. */
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
    // Reasoning models accept only the new name of the limit, many self-hosted endpoints only the old one.
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
