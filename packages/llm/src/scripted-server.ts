// A model endpoint that answers according to a script: chat completions (whole and streamed) and embeddings over HTTP, with faults on
// demand and a log of the requests. It is a tool for users as well as for tests, and keeps everything in memory.
//
// Order: rules are tried from the top; counters advance in the order in which requests arrive. With several parallel runs that order is not
// fixed, so a script for them should match requests by text or turn rather than by nth.
// Sticky: a reply (never a fault) of a sticky rule is remembered under the request's Idempotency-Key, or under its body if it has no key.
// The same request again gets the same reply and advances no counter.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { scriptedServerCodes } from "./file-codes.ts";
import { hashEmbedding } from "./hash-embedding.ts";
import { matchScript, type RuleCounts, type ScriptedMessage, type ScriptMatch } from "./match-script.ts";
import { canonicalJson } from "./request-hash.ts";
import type { Script } from "./script.ts";
import {
  type Chat,
  chatSchema,
  completionOf,
  exchangeOf,
  type Matched,
  sendStream,
  tokensOf,
} from "./scripted-exchange.ts";
import { isBilled, nameOfFault, sendFault } from "./scripted-fault.ts";
import { readJson, sendError, sendJson, waitUnlessClosed } from "./scripted-http.ts";
import { troubleOf } from "./scripted-trouble.ts";

export interface ScriptedModelOptions {
  readonly script: Script;
  /** Default: 0, any free port. */
  readonly port?: number;
  readonly host?: string;
  /** If set, every request except GET /healthz must send it. */
  readonly apiKey?: string;
}

export interface LoggedRequest {
  /** From 1, in order of arrival; clearing the log does not reset it. */
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
  /** The fault of the reply, by a rule or at random. */
  readonly fault: string | undefined;
  /** A complete reply with content was sent. */
  readonly served: boolean;
  /** The server counts the request as paid: it generated a reply, whether or not the reply arrived. */
  readonly billed: boolean;
  /** For a billed request: its billed usage. */
  readonly usage: { readonly prompt: number; readonly completion: number } | undefined;
  /** The text of the rule; absent for faults without a text. */
  readonly reply: string | undefined;
  /** The body as received. */
  readonly body: unknown;
}

export interface ScriptedModel {
  /** The value for OPENAI_BASE_URL: ends in /v1. */
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

const MAX_LOGGED_REQUESTS = 10_000;
const EMBEDDING_DIMENSIONS = 256;
const ENDPOINTS =
  "POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models, GET /healthz, GET /log and DELETE /log";

const embeddingSchema = z.object({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string()).min(1)], { error: "expected a text or a list of texts" }),
  dimensions: z.int().positive().max(4096).optional(),
  encoding_format: z.enum(["float", "base64"]).optional(),
});

export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const { script, apiKey } = options;
  const host = options.host ?? "127.0.0.1";
  const models = ["scripted", ...script.rules.flatMap(({ when }) => when.model ?? [])];
  const log: LoggedRequest[] = [];
  const remembered = new Map<string, Matched>();
  let counts: RuleCounts = new Map();
  let received = 0;
  const drawTrouble = troubleOf(script);

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

  // Importing node:http costs 70 ms, as much as all other Node modules that most commands import: it also loads fetch.
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      // A client that disconnects in the middle is not an error of the server.
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

/** Identifies the question of a request: the option to stream only concerns the form of the answer. */
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
