// A model endpoint that says what a script tells it to: chat completions (whole and streamed) and embeddings over HTTP, with
// faults on demand and a log of what was asked. It is a tool for users as well as for tests, and holds everything in memory.
//
// Order: rules are tried from the top; counters advance in the order in which requests arrive. With several runs in flight that
// order is not fixed, so a script for them tells requests apart by text or turn rather than by nth.
// Sticky: a reply (never a fault) of a sticky rule is remembered under the request's Idempotency-Key, or its body when it has
// none; the same request again gets the same reply and advances no counter.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { scriptedServerCodes } from "./file-codes.ts";
import { hashEmbedding } from "./hash-embedding.ts";
import { matchScript, type RuleCounts, type ScriptedMessage, type ScriptMatch } from "./match-script.ts";
import { canonicalJson } from "./request-hash.ts";
import type { Answer, Fault, Script } from "./script.ts";

export interface ScriptedModelOptions {
  readonly script: Script;
  /** 0, the default: any free port. */
  readonly port?: number;
  readonly host?: string;
  /** Required of every request but GET /healthz when given. */
  readonly apiKey?: string;
}

export interface LoggedRequest {
  /** From 1, in order of arrival; goes on counting after the log is cleared. */
  readonly number: number;
  readonly receivedAt: string;
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScriptedMessage[];
  readonly idempotencyKey: string | undefined;
  /** Name of the rule that answered. */
  readonly rule: string | undefined;
  readonly outcome: "reply" | "fault" | "unmatched" | "embedding";
  /** How it was made to fail, by a rule or by chance. */
  readonly fault: string | undefined;
  /** A whole reply with something in it was sent. */
  readonly served: boolean;
  /** The server counts it as paid for: it generated a reply, whether or not that arrived. */
  readonly billed: boolean;
  /** Of a request that is billed: what it is billed for. */
  readonly usage: { readonly prompt: number; readonly completion: number } | undefined;
  /** The text the rule gave; absent for faults that give none. */
  readonly reply: string | undefined;
  /** As it came. */
  readonly body: unknown;
}

export interface ScriptedModel {
  /** To be used as OPENAI_BASE_URL: ends in /v1. */
  readonly url: string;
  requests(): readonly LoggedRequest[];
  clearRequests(): void;
  close(): Promise<void>;
}

class ScriptedModelError extends Error {
  override readonly name = "ScriptedModelError";
  readonly code: keyof typeof scriptedServerCodes;
  constructor(code: ScriptedModelError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
const MAX_LOGGED_REQUESTS = 10_000;
const PIECE = 64 * 1024;
const EMBEDDING_DIMENSIONS = 256;
const ENDPOINTS =
  "POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models, GET /healthz, GET /log and DELETE /log";

const contentSchema = z
  .union([z.string(), z.array(z.object({ text: z.string().optional() })), z.null()])
  .optional()
  .transform((content) => (Array.isArray(content) ? content.map(({ text }) => text ?? "").join("") : (content ?? "")));

const chatSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: contentSchema })).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
});
type Chat = z.infer<typeof chatSchema>;

const embeddingSchema = z.object({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string()).min(1)], { error: "expected a text or a list of texts" }),
  dimensions: z.int().positive().max(4096).optional(),
  encoding_format: z.enum(["float", "base64"]).optional(),
});

type Matched = Extract<ScriptMatch, { kind: "matched" }>;

/** One chat request being answered. */
interface Exchange {
  readonly response: ServerResponse;
  readonly chat: Chat;
  readonly id: string;
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly finish: string;
  readonly usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const { script, apiKey } = options;
  const host = options.host ?? "127.0.0.1";
  const models = ["scripted", ...script.rules.flatMap(({ when }) => when.model ?? [])];
  const log: LoggedRequest[] = [];
  const remembered = new Map<string, Matched>();
  let counts: RuleCounts = new Map();
  let received = 0;
  const chance = chanceOf(script.trouble?.seed ?? 0);

  /** Two numbers are drawn for every request, so that whether one fails does not change the fate of the next. */
  const drawTrouble = (): Matched | undefined => {
    const { trouble } = script;
    if (trouble === undefined) return undefined;
    const [happens, which] = [chance(), chance()];
    const fault = trouble.kinds[Math.floor(which * trouble.kinds.length)];
    if (happens >= trouble.share || fault === undefined) return undefined;
    return { kind: "matched", rule: "trouble", n: 0, answer: { ...plainAnswer, fault }, text: "This ends too early." };
  };

  const record = (entry: Omit<LoggedRequest, "receivedAt">) => {
    log.push({ ...entry, receivedAt: new Date().toISOString() });
    if (log.length > MAX_LOGGED_REQUESTS) log.shift();
  };

  const decide = (chat: Chat, stickyKey: string): ScriptMatch => {
    const known = remembered.get(stickyKey);
    if (known !== undefined) return known;
    const decided = matchScript(script, counts, chat);
    counts = decided.counts;
    const { match } = decided;
    if (match.kind === "matched" && match.answer.sticky && match.answer.fault === undefined) {
      remembered.set(stickyKey, match);
    }
    return match;
  };

  async function answerChat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request, response);
    if (body === undefined) return;
    const parsed = chatSchema.safeParse(body);
    if (!parsed.success) return sendError(response, 400, "invalid_request", describeIssues(parsed.error));
    const chat = parsed.data;
    const idempotencyKey = request.headers["idempotency-key"]?.toString();
    const match = drawTrouble() ?? decide(chat, idempotencyKey ?? identityOf(body));
    received += 1;
    const number = received;
    const matched = match.kind === "matched" ? match : undefined;
    const fault = matched?.answer.fault;
    const exchange = matched && exchangeOf(response, chat, number, matched);
    const billed = exchange !== undefined && isBilled(fault);
    record({
      number,
      path: "/v1/chat/completions",
      model: chat.model,
      stream: chat.stream ?? false,
      messages: chat.messages,
      idempotencyKey,
      rule: matched?.rule,
      outcome: matched === undefined ? "unmatched" : fault === undefined ? "reply" : "fault",
      fault: fault && nameOfFault(fault),
      served: matched !== undefined && fault === undefined,
      billed,
      usage: billed
        ? { prompt: exchange.usage.prompt_tokens, completion: exchange.usage.completion_tokens }
        : undefined,
      reply: matched?.text,
      body,
    });
    if (match.kind === "unmatched" || exchange === undefined) {
      if (match.kind === "matched") return;
      return sendError(response, 400, "script_unmatched", describeUnmatched(chat, match.reasons));
    }
    if (match.answer.delayMs > 0) await waitUnlessClosed(response, match.answer.delayMs);
    if (response.destroyed) return;
    if (fault !== undefined) return await sendFault(exchange, fault);
    return chat.stream ? await sendStream(exchange) : sendJson(response, 200, completionOf(exchange));
  }

  async function answerEmbeddings(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request, response);
    if (body === undefined) return;
    const parsed = embeddingSchema.safeParse(body);
    if (!parsed.success) return sendError(response, 400, "invalid_request", describeIssues(parsed.error));
    const { model, input, dimensions, encoding_format } = parsed.data;
    const texts = typeof input === "string" ? [input] : input;
    received += 1;
    record({
      number: received,
      path: "/v1/embeddings",
      model,
      stream: false,
      messages: [],
      idempotencyKey: request.headers["idempotency-key"]?.toString(),
      rule: undefined,
      outcome: "embedding",
      fault: undefined,
      served: true,
      billed: true,
      usage: { prompt: texts.reduce((sum, text) => sum + tokensOf(text), 0), completion: 0 },
      reply: undefined,
      body,
    });
    const data = texts.map((text, index) => {
      const vector = hashEmbedding(text, dimensions ?? EMBEDDING_DIMENSIONS);
      const base64 = () => Buffer.from(Float32Array.from(vector).buffer).toString("base64");
      return { object: "embedding", index, embedding: encoding_format === "base64" ? base64() : vector };
    });
    const tokens = texts.reduce((sum, text) => sum + tokensOf(text), 0);
    sendJson(response, 200, { object: "list", model, data, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://scripted").pathname;
    const endpoint = `${request.method} ${path}`;
    if (endpoint === "GET /healthz") return sendJson(response, 200, { status: "ok" });
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
      return sendError(
        response,
        401,
        "invalid_api_key",
        "The API key is missing or not the one this server was started with.",
      );
    }
    switch (endpoint) {
      case "POST /v1/chat/completions":
        return await answerChat(request, response);
      case "POST /v1/embeddings":
        return await answerEmbeddings(request, response);
      case "GET /v1/models":
        return sendJson(response, 200, {
          object: "list",
          data: [...new Set(models)].map((id) => ({ id, object: "model", created: 0, owned_by: "script" })),
        });
      case "GET /log":
        return sendJson(response, 200, { requests: log });
      case "DELETE /log":
        log.length = 0;
        return sendJson(response, 200, { requests: [] });
      default:
        return sendError(response, 404, "unknown_endpoint", `There is no ${endpoint} here; there are ${ENDPOINTS}.`);
    }
  }

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      // A client that hung up in the middle is not an error of the server.
      if (response.destroyed) return;
      const why = error instanceof Error ? error.message : String(error);
      if (response.headersSent) response.destroy();
      else sendError(response, 500, "scripted_server_error", why);
    });
  });
  server.listen(options.port ?? 0, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw portError(error, host, options.port ?? 0);
  }
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}/v1`,
    requests: () => [...log],
    clearRequests: () => {
      log.length = 0;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function exchangeOf(response: ServerResponse, chat: Chat, number: number, match: Matched): Exchange {
  const { usage: given, finish } = match.answer;
  const prompt = given?.prompt ?? chat.messages.reduce((sum, { content }) => sum + tokensOf(content) + 4, 0);
  const limit = chat.max_completion_tokens ?? chat.max_tokens ?? Number.POSITIVE_INFINITY;
  const wanted = given?.completion ?? tokensOf(match.text);
  // A computed usage obeys the request's limit as a real endpoint does; an explicit one is the script's own word.
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
    reasoning: match.answer.reasoning,
    finish: cut ? "length" : finish,
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

const BYTES_PER_TOKEN = 4;

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

const plainAnswer: Answer = {
  replies: [],
  reasoning: undefined,
  verbatim: true,
  usage: undefined,
  finish: "stop",
  delayMs: 0,
  fault: undefined,
  sticky: false,
};

/** An endpoint that refuses, or that never saw the request, bills nothing. Whatever else goes wrong, the reply was generated. */
function isBilled(fault: Fault | undefined): boolean {
  return fault?.kind !== "status" && fault?.kind !== "html";
}

function nameOfFault(fault: Fault): string {
  if (fault.kind !== "status") return fault.kind;
  return fault.code === undefined ? String(fault.status) : `${fault.status} ${fault.code}`;
}

/** mulberry32: small, and the same everywhere. */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const unaskedTool = { index: 0, id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } };

/** The message, or its parts, of a choice that holds nothing to read. */
function hollowMessage(kind: "null" | "blank" | "tool-calls" | "reasoning"): { message: object; finish: string } {
  switch (kind) {
    case "null":
      return { message: { role: "assistant", content: null }, finish: "stop" };
    case "blank":
      return { message: { role: "assistant", content: " \n\t\u00a0" }, finish: "stop" };
    case "tool-calls":
      return { message: { role: "assistant", content: null, tool_calls: [unaskedTool] }, finish: "tool_calls" };
    case "reasoning":
      return {
        message: { role: "assistant", content: "<think>Let me see.</think>", reasoning_content: "I look." },
        finish: "stop",
      };
  }
}

function completionOf({ id, chat, text, reasoning, finish, usage }: Exchange) {
  const thought = reasoning === undefined ? {} : { reasoning_content: reasoning };
  const message = { role: "assistant", content: text, refusal: null, ...thought };
  return {
    id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}

function chunkOf({ id, chat }: Exchange, delta: object, finish: string | null) {
  return {
    id,
    object: "chat.completion.chunk",
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function beginStream(exchange: Exchange): void {
  exchange.response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
}

async function sendEvent(response: ServerResponse, event: unknown): Promise<void> {
  await write(response, `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
}

async function sendStream(exchange: Exchange): Promise<void> {
  const { response, chat, text, reasoning, finish, usage } = exchange;
  beginStream(exchange);
  await sendEvent(response, chunkOf(exchange, { role: "assistant", content: "" }, null));
  if (reasoning !== undefined) await sendEvent(response, chunkOf(exchange, { reasoning_content: reasoning }, null));
  for (const piece of text.match(/.{1,24}/gsu) ?? [])
    await sendEvent(response, chunkOf(exchange, { content: piece }, null));
  await sendEvent(response, chunkOf(exchange, {}, finish));
  if (chat.stream_options?.include_usage) {
    await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [], usage });
  }
  await sendEvent(response, "[DONE]");
  response.end();
}

async function sendFault(exchange: Exchange, fault: Fault): Promise<void> {
  const { response, chat, text } = exchange;
  switch (fault.kind) {
    case "status": {
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      if (fault.retryAfterMs !== undefined) response.setHeader("retry-after-ms", fault.retryAfterMs);
      if (fault.retryAfterDate !== undefined) {
        response.setHeader("retry-after", new Date(Date.now() + fault.retryAfterDate * 1000).toUTCString());
      }
      const code = fault.code ?? (fault.status === 429 ? "rate_limit_exceeded" : "scripted_fault");
      return sendError(
        response,
        fault.status,
        code,
        fault.message ?? `The script answers with status ${fault.status}.`,
      );
    }
    case "malformed": {
      if (!chat.stream) return send(response, 200, "application/json", '{"id":"chatcmpl-scripted","choices":[{"mess');
      beginStream(exchange);
      await sendEvent(response, '{"id":"chatcmpl-scripted","choices":[{"del');
      response.end();
      return;
    }
    case "html":
      return send(
        response,
        200,
        "text/html; charset=utf-8",
        "<!doctype html><html><body><h1>Sign in</h1></body></html>",
      );
    case "empty": {
      if (!chat.stream) return sendJson(response, 200, { ...completionOf(exchange), choices: [] });
      beginStream(exchange);
      await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [] });
      await sendEvent(response, "[DONE]");
      response.end();
      return;
    }
    case "hang":
      // Until the client gives up or the server closes.
      if (!response.destroyed) await once(response, "close");
      return;
    case "reset":
      response.destroy();
      return;
    case "reset-after-headers":
      response.writeHead(200, { "content-type": chat.stream ? "text/event-stream" : "application/json" });
      response.flushHeaders();
      await sleep(20);
      response.destroy();
      return;
    case "null":
    case "blank":
    case "tool-calls":
    case "reasoning": {
      const { message, finish } = hollowMessage(fault.kind);
      if (!chat.stream) {
        return sendJson(response, 200, {
          ...completionOf(exchange),
          choices: [{ index: 0, message, finish_reason: finish }],
        });
      }
      beginStream(exchange);
      await sendEvent(response, chunkOf(exchange, message, null));
      await sendEvent(response, chunkOf(exchange, {}, finish));
      await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [], usage: exchange.usage });
      await sendEvent(response, "[DONE]");
      response.end();
      return;
    }
    case "cut":
      return await sendCut(exchange, text.slice(0, fault.characters));
    case "huge":
      return await sendHuge(exchange, fault.characters);
  }
}

async function sendCut(exchange: Exchange, head: string): Promise<void> {
  const { response, chat } = exchange;
  if (chat.stream) {
    beginStream(exchange);
    await sendEvent(response, chunkOf(exchange, { role: "assistant", content: head }, null));
  } else {
    const body = JSON.stringify(completionOf(exchange));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    await write(response, body.slice(0, body.indexOf('"content":"') + '"content":"'.length) + head);
  }
  // What was written has to leave before the connection goes, or the client sees a reset instead of a cut.
  await sleep(20);
  response.destroy();
}

async function sendHuge(exchange: Exchange, characters: number): Promise<void> {
  const { response, chat } = exchange;
  const pieces = function* () {
    for (let left = characters; left > 0; left -= PIECE) yield "x".repeat(Math.min(left, PIECE));
  };
  if (chat.stream) {
    beginStream(exchange);
    for (const piece of pieces()) await sendEvent(response, chunkOf(exchange, { content: piece }, null));
    await sendEvent(response, chunkOf(exchange, {}, "stop"));
    await sendEvent(response, "[DONE]");
  } else {
    const [before = "", after = ""] = JSON.stringify(completionOf({ ...exchange, text: "\u0001" })).split("\\u0001");
    response.writeHead(200, { "content-type": "application/json" });
    await write(response, before);
    for (const piece of pieces()) await write(response, piece);
    await write(response, after);
  }
  response.end();
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new Error("the client hung up");
  if (response.write(text)) return;
  const closed = new AbortController();
  try {
    await Promise.race([
      once(response, "drain", { signal: closed.signal }),
      once(response, "close", { signal: closed.signal }),
    ]);
  } finally {
    closed.abort();
  }
}

async function waitUnlessClosed(response: ServerResponse, ms: number): Promise<void> {
  const closed = new AbortController();
  const stop = () => closed.abort();
  response.once("close", stop);
  await sleep(ms, undefined, { signal: closed.signal }).catch(() => undefined);
  response.off("close", stop);
}

/** The parsed body; undefined when it was refused and answered. */
async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) {
      response.setHeader("connection", "close");
      sendError(response, 413, "request_too_large", `A request may have ${MAX_REQUEST_BYTES} bytes.`);
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) ?? {};
  } catch {
    sendError(response, 400, "invalid_json", "The request body is not JSON.");
    return undefined;
  }
}

/** Of the request as a question: whether it is streamed is only how it is answered. */
function identityOf(body: unknown): string {
  const { stream: _stream, stream_options: _options, ...question } = body as Record<string, unknown>;
  return canonicalJson(question);
}

function describeUnmatched(chat: Chat, reasons: readonly string[]): string {
  const last = chat.messages.at(-1);
  const prompt = JSON.stringify(last?.content.slice(0, 200));
  return (
    `No rule of the script answers this request (model ${chat.model}, ${chat.messages.length} messages, the last one of role ` +
    `${last?.role}: ${prompt}). ${reasons.slice(0, 10).join("; ")}. Add a rule for it, or a default.`
  );
}

function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`).join("; ");
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  sendJson(response, status, { error: { message, type, param: null, code } });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", JSON.stringify(body));
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function portError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new ScriptedModelError(
      "SCRIPTED_PORT_IN_USE",
      `Port ${port} of ${host} is in use by another program. Stop that program, or choose another port (0 takes any free one).`,
    );
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new ScriptedModelError(
      "SCRIPTED_PORT_REFUSED",
      `The system does not let this program listen on ${host}:${port} (${code}). Choose a port above 1023 and a host of this machine.`,
    );
  }
  return error;
}
