// Translates a vendor's error into a ModelFailure; no other file does. A failure states what happens next, how long the endpoint asked us
// to wait, and whether it may have billed the attempt.
//
// park   Trouble of the endpoint, or of the connection to it: too many requests, no credit, a refused key, its own errors, no connection, a
//        timeout, bytes that are no reply. It says nothing about the request and never becomes an answer: the run waits.
//        A 404 is one of these, even if it names the model. A wrong base URL, a model that is still loading and a misspelt name look alike,
//        and all three are fixed outside the run.
// fail   A problem of this request: invalid, too long, refused, filtered, a reply that was cut or is too large. Another attempt would fail
//        too.
// hold   A problem that waiting cannot solve: no key, no such model, an endpoint with another protocol. The run waits until a person
//        resumes it.
// retry  An empty reply, or one that the endpoint ended early: the endpoint works, and the next attempt may succeed. After a few attempts
//        the activity fails.
import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai/core/error";
import { ZodError } from "zod";
import type { ModelUsage } from "./model-request.ts";
import { neutraliseText } from "./neutralise-text.ts";
import { UnusableReply } from "./read-completion.ts";
import { redactorOf } from "./redact-key.ts";

/** `no`: the endpoint did not generate. `unknown`: it may have, so the budget counts the worst case. `known`: the usage is reported. */
export type Billed = "no" | "unknown" | "known";

export type NextOfCall = "park" | "hold" | "fail" | "retry";

interface FailureRule {
  readonly next: NextOfCall;
  readonly billed: Billed;
  readonly sentence: string;
  readonly fix: string;
}

export const modelFailureCodes = {
  MODEL_RATE_LIMITED: rule(
    "park",
    "no",
    "The endpoint asked for fewer requests or tokens per minute.",
    "Do nothing, start fewer runs at the same time, or ask the provider for a higher limit.",
  ),
  MODEL_PAUSED: rule(
    "park",
    "no",
    "The endpoint refused other requests, so Markmill sends it no requests for some time.",
    "Do nothing. Markmill asks the endpoint again.",
  ),
  MODEL_QUOTA_EXHAUSTED: rule(
    "park",
    "no",
    "The account of the API key has no credit left; add credit at the provider.",
    "Add credit at the provider.",
  ),
  MODEL_SERVER_ERROR: rule(
    "park",
    "no",
    "The endpoint reported an internal error.",
    "Do nothing, or check the provider's status page.",
  ),
  MODEL_UNREACHABLE: rule(
    "park",
    "no",
    "Markmill cannot connect to the endpoint; check OPENAI_BASE_URL and the network.",
    "Check OPENAI_BASE_URL and the network.",
  ),
  MODEL_TIMEOUT: rule(
    "park",
    "unknown",
    "The endpoint did not finish its reply in time.",
    "Do nothing, or raise MODEL_TIMEOUT_MS.",
  ),
  MODEL_CONNECTION_CUT: rule(
    "park",
    "unknown",
    "The connection ended before the end of the reply.",
    "Do nothing, or check the network and any proxy between this machine and the endpoint.",
  ),
  MODEL_REPLY_MALFORMED: rule(
    "park",
    "unknown",
    "The reply is not a chat completion in JSON.",
    "Check that OPENAI_BASE_URL is an endpoint for chat completions.",
  ),
  MODEL_REPLY_FOREIGN: rule(
    "hold",
    "unknown",
    "The endpoint answered in a format that is not a chat completion.",
    "Set OPENAI_BASE_URL as described in the message (docs/endpoints.md), then run `markmill resume RUN`.",
  ),
  MODEL_REPLY_UNFINISHED: rule(
    "retry",
    "unknown",
    "The endpoint ended the reply early, for a reason that Markmill does not know.",
    "Search for the reason in the provider's documentation. Reword the prompt, or use another model.",
  ),
  MODEL_REPLY_HTML: rule(
    "park",
    "no",
    "The endpoint answered with a web page; check that OPENAI_BASE_URL ends in the API path.",
    "Check that OPENAI_BASE_URL ends in the API path, such as /v1.",
  ),
  MODEL_KEY_MISSING: rule(
    "hold",
    "no",
    "The endpoint needs an API key; set OPENAI_API_KEY, or set OPENAI_BASE_URL to an endpoint that needs no key.",
    "Set OPENAI_API_KEY, then run `markmill resume RUN`.",
  ),
  MODEL_KEY_REFUSED: rule(
    "park",
    "no",
    "The endpoint refused the API key; set OPENAI_API_KEY to a valid key.",
    "Set OPENAI_API_KEY to a valid key for this endpoint.",
  ),
  MODEL_NOT_FOUND: rule(
    "park",
    "no",
    "The endpoint does not know this model or path; check the name and OPENAI_BASE_URL.",
    "Check the model's name and OPENAI_BASE_URL.",
  ),
  MODEL_EMPTY_REPLY: rule(
    "retry",
    "unknown",
    "The model sent an empty reply.",
    "Reword the prompt, or use another model.",
  ),
  MODEL_REPLY_CUT: rule(
    "fail",
    "unknown",
    "The reply ended at the limit of output tokens, and the workflow does not accept cut replies; raise maxOutputTokens.",
    "Raise maxOutputTokens, or accept cut replies with cutReplies: keep.",
  ),
  MODEL_REPLY_TOO_LARGE: rule(
    "fail",
    "unknown",
    "The reply is larger than MAX_REPLY_BYTES; lower the output tokens, or raise it.",
    "Lower maxOutputTokens, or raise MAX_REPLY_BYTES.",
  ),
  MODEL_REPLY_OFF_SCHEMA: rule(
    "fail",
    "unknown",
    "The reply does not match the schema, even after a second request.",
    "Describe the content of the reply in the prompt, or use another model.",
  ),
  MODEL_NOT_IN_CATALOGUE: rule(
    "hold",
    "no",
    "The model is not in the catalogue.",
    "Correct the name, or add the model to MODELS_FILE. Then run `markmill resume RUN`.",
  ),
  MODEL_CONTEXT_EXCEEDED: rule(
    "fail",
    "no",
    "The conversation is longer than the context of the model; shorten the prompt.",
    "Shorten the prompt, or use a model with a larger context.",
  ),
  MODEL_REFUSED: rule(
    "fail",
    "no",
    "The model or its content filter refused to answer; reword the prompt.",
    "Reword the prompt.",
  ),
  MODEL_REQUEST_REFUSED: rule(
    "fail",
    "no",
    "The endpoint refused the request as invalid; its message contains the reason.",
    "Correct the problem in the endpoint's message.",
  ),
  MODEL_FORMAT_REFUSED: rule(
    "retry",
    "no",
    "The endpoint does not support a JSON Schema for the reply; Markmill asks again with the schema in the prompt.",
    "Do nothing. To avoid the first request, set jsonSchema: false for the model in MODELS_FILE.",
  ),
  MODEL_SCHEMA_UNUSABLE: rule(
    "fail",
    "no",
    "The schema of the reply contains unsupported keywords; use only the keywords listed for schemas.",
    "Use only the keywords in the message.",
  ),
  MODEL_URL_INVALID: rule(
    "fail",
    "no",
    "OPENAI_BASE_URL is not an http or https address; correct it.",
    "Set OPENAI_BASE_URL to an http or https address.",
  ),
  BATCH_BUDGET_SPENT: rule(
    "hold",
    "no",
    "The budget of the batch is spent.",
    "Raise the budget of the batch and resume it; nothing is repeated.",
  ),
  BATCH_BUDGET_RESERVED: rule(
    "park",
    "no",
    "What is left of the batch's budget is reserved by calls under way.",
    "Nothing: it is tried again when they have ended. Fewer runs at once reserve less.",
  ),
  MODEL_ABORTED: rule(
    "retry",
    "unknown",
    "The call was given up on our side before it was answered.",
    "Nothing: it is asked again.",
  ),
} as const satisfies Record<string, FailureRule>;

export type ModelFailureCode = keyof typeof modelFailureCodes;

export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly code: ModelFailureCode;
  readonly next: NextOfCall;
  readonly billed: Billed;
  /** The tokens that the endpoint generated before it failed; present where `billed` is `known`. */
  readonly spent?: ModelUsage;
  /** A short reason for a status line about a waiting run: `429, too many requests`. */
  readonly reason: string;
  /** The wait that the endpoint asked for. Absent: it did not ask for one. */
  readonly retryAfterMs?: number;

  constructor(code: ModelFailureCode, detail: string, given: Given = {}) {
    const known = modelFailureCodes[code];
    super(detail === "" ? known.sentence : `${known.sentence} ${detail}`);
    this.code = code;
    this.next = known.next;
    this.billed = given.spent === undefined ? (given.billed ?? known.billed) : "known";
    if (given.spent !== undefined) this.spent = given.spent;
    this.reason = given.reason ?? known.sentence;
    if (given.retryAfterMs !== undefined) this.retryAfterMs = given.retryAfterMs;
  }
}

interface Given {
  readonly billed?: "no" | "unknown";
  readonly spent?: ModelUsage;
  readonly retryAfterMs?: number;
  readonly reason?: string;
}

/** Thrown while a body is read, by the size guard of the client. */
export class ReplyTooLarge extends Error {}
/** Thrown before a body is read: it does not have the requested content type. */
export class ReplyOfWrongKind extends Error {
  readonly contentType: string;
  constructor(contentType: string) {
    super(`content type ${contentType}`);
    this.contentType = contentType;
  }
}

export interface FailureContext {
  readonly model: string;
  /** Shown to the user. */
  readonly endpoint: string;
  /** Removed from every message, in case the endpoint echoes it. */
  readonly apiKey?: string;
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
  /** Our own two reasons to give up; the client's error alone does not distinguish them. */
  readonly timedOut: boolean;
  /** false: nothing of the request was written to a connection, so nothing is billed. Absent: it may have been written. */
  readonly left?: boolean;
  readonly aborted: boolean;
  /** The request had a schema as `response_format`. */
  readonly sentSchema?: boolean;
  /** The usage of a reply that is not an answer. */
  readonly spent?: ModelUsage;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly now: number;
}

export function translateModelError(error: unknown, context: FailureContext): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const where = `(model ${context.model} at ${context.endpoint})`;
  const redact = redactorOf(context.apiKey, "failure");
  const clean = (text: string) => neutraliseText(redact(text));
  const fail = (code: ModelFailureCode, why: string, given: Given = {}) => {
    // Redact before the cut: half a key is a secret too.
    const told = why === "" ? "" : sentence(clean(why));
    const reason = brief(clean(given.reason ?? (told === "" ? modelFailureCodes[code].sentence : told)));
    const spent = context.spent === undefined ? {} : { spent: context.spent };
    const free = context.left === false ? ({ billed: "no" } as const) : {};
    return new ModelFailure(code, clean(told === "" ? where : `${told} ${where}`), {
      ...given,
      ...free,
      reason,
      ...spent,
    });
  };

  const chain = causes(error);
  const tooLarge = chain.some((cause) => cause instanceof ReplyTooLarge);
  if (tooLarge) return fail("MODEL_REPLY_TOO_LARGE", `The limit is ${context.maxReplyBytes} bytes.`);
  const wrongKind = chain.find((cause) => cause instanceof ReplyOfWrongKind);
  if (wrongKind !== undefined) {
    const code = wrongKind.contentType.startsWith("text/html") ? "MODEL_REPLY_HTML" : "MODEL_REPLY_MALFORMED";
    return fail(code, `Its content type is "${wrongKind.contentType}".`);
  }
  if (context.aborted) return fail("MODEL_ABORTED", "");
  if (context.timedOut && context.left === false) {
    return fail("MODEL_UNREACHABLE", `There was no connection within ${context.timeoutMs} ms.`);
  }
  const unconnected = chain.some(isUnconnected);
  if (unconnected && !context.timedOut) {
    return fail("MODEL_UNREACHABLE", chain.map(codeOf).find((found) => found !== undefined) ?? "", { billed: "no" });
  }
  if (context.timedOut || error instanceof APIConnectionTimeoutError || chain.some(isSocketTimeout)) {
    return fail("MODEL_TIMEOUT", `The limit is ${context.timeoutMs} ms.`);
  }
  if (error instanceof APIUserAbortError) return fail("MODEL_ABORTED", "");
  if (error instanceof APIConnectionError) {
    const code = chain.map(codeOf).find((found) => found !== undefined);
    const why = code ?? chain.at(-1)?.message ?? error.message;
    // A connection that broke after it was established may have carried the request, with any error code.
    const reached = context.left === true || code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
    return fail("MODEL_UNREACHABLE", why, reached ? { billed: "unknown" } : {});
  }
  if (error instanceof UnusableReply) {
    const { trouble } = error;
    switch (trouble.is) {
      case "error": {
        const { status, message, code, type } = trouble.error;
        const told = new APIError(status, { message, code, type }, message, new Headers());
        // The error came without a reply: nothing was generated.
        return translateStatus(told, context, (why, words, given) =>
          fail(why, words, status === undefined && error.reply === null ? { ...given, billed: "no" } : given),
        );
      }
      case "foreign":
        return fail("MODEL_REPLY_FOREIGN", `It is ${trouble.form}. ${trouble.hint}`);
      case "unfinished":
        return fail("MODEL_REPLY_UNFINISHED", `Its finish_reason is "${trouble.finish}".`);
      case "malformed":
        return fail("MODEL_REPLY_MALFORMED", trouble.why);
    }
  }
  if (error instanceof APIError) return translateStatus(error, context, fail);
  if (error instanceof SyntaxError) return fail("MODEL_REPLY_MALFORMED", error.message);
  if (error instanceof ZodError) {
    const issue = error.issues[0];
    return fail("MODEL_REPLY_MALFORMED", `${issue?.path.join(".")}: ${issue?.message}`);
  }
  if (isCut(error)) {
    return fail("MODEL_CONNECTION_CUT", chain.at(-1)?.message ?? "");
  }
  // An error in our own code (for example in onDelta) is not the endpoint's.
  throw error;
}

/** undici reports a body that ends early as TypeError "terminated", with the reason in the cause. */
export function isCut(error: unknown): boolean {
  return error instanceof TypeError && error.message === "terminated";
}

function translateStatus(
  error: APIError,
  context: FailureContext,
  fail: (code: ModelFailureCode, why: string, given?: Given) => ModelFailure,
): ModelFailure {
  const status: number | undefined = error.status;
  const label = `${error.code ?? ""} ${error.type ?? ""}`;
  const { message } = error;
  const html = /<html|<!doctype/i.test(message);
  const why = html ? `The answer was a web page with status ${status}.` : message;
  const reason = html ? `${status}, a web page` : message;
  const wait = retryAfter(error.headers, context.now);
  const given = { reason, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
  // Several vendors report these with status 400; only the message shows it.
  const spoken = html ? "" : message;

  if (/insufficient_quota|billing|credit|payment/.test(label) || status === 402 || QUOTA.test(spoken)) {
    return fail("MODEL_QUOTA_EXHAUSTED", why, given);
  }
  // A body without a status has only its message.
  const words = status === undefined ? spoken : "";
  if (status === 429 || /rate_limit|too_many_requests|overloaded/.test(label) || TOO_OFTEN.test(words)) {
    return fail("MODEL_RATE_LIMITED", why, given);
  }
  if (/context_length|request_too_large|string_above_max_length/.test(label) || status === 413) {
    return fail("MODEL_CONTEXT_EXCEEDED", why);
  }
  if ((isRequestStatus(status) || status === undefined) && TOO_LONG.test(spoken))
    return fail("MODEL_CONTEXT_EXCEEDED", why);
  if (/content_filter|content_policy|moderation/.test(label)) return fail("MODEL_REFUSED", why);
  if (/invalid_api_key/.test(label) || status === 401 || status === 403 || status === 407 || KEY.test(spoken)) {
    return fail(context.apiKey === undefined ? "MODEL_KEY_MISSING" : "MODEL_KEY_REFUSED", why, given);
  }
  const noModel = /model_not_found|invalid_model/.test(label) || NO_MODEL.test(words);
  if (noModel || status === 404 || status === 405 || status === 410) {
    return fail("MODEL_NOT_FOUND", why, given);
  }
  // No status: an error event inside a stream that had begun.
  if (status === undefined) return fail("MODEL_SERVER_ERROR", why, { ...given, billed: "unknown" });
  // An HTML error comes from a proxy between us and the endpoint. It says nothing about the request.
  if (status < 500 && html) return fail("MODEL_REPLY_HTML", why, given);
  if (isRequestStatus(status) && context.sentSchema === true && NO_FORMAT.test(spoken)) {
    return fail("MODEL_FORMAT_REFUSED", why);
  }
  if (isRequestStatus(status)) return fail("MODEL_REQUEST_REFUSED", why);
  // A gateway that gave up waiting does not stop the server behind it.
  const late = status === 504 || status === 524 || status === 520 || status === 499;
  return fail("MODEL_SERVER_ERROR", why, { ...given, billed: late ? "unknown" : "no" });
}

const QUOTA = /insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance is too low/i;
const TOO_LONG =
  /context (length|window|size)|(prompt|input|request) is too long|too many (input )?tokens|maximum context/i;
const NO_FORMAT = /response[_ ]?format|json[_ ]?schema|structured[_ ]outputs?/i;
const TOO_OFTEN = /rate limit|too many requests/i;
const NO_MODEL = /\bmodel\b.{0,120} (not found|does not exist|not supported)/i;
const KEY = /(invalid|incorrect|missing|expired) api[ _-]?key|api[ _-]?key (is )?(not valid|invalid|missing|expired)/i;

/** The statuses about the request itself. Others ask to repeat it (408, 409, 425), or concern the endpoint. */
function isRequestStatus(status: number | undefined): boolean {
  return status !== undefined && [400, 406, 411, 412, 414, 415, 416, 417, 422, 431, 451].includes(status);
}

const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/** Reads retry-after-ms, or Retry-After as seconds or as a date. A date is compared with the endpoint's own Date header if present. */
export function retryAfter(headers: Headers | undefined, now: number): number | undefined {
  const bounded = (ms: number) => Math.ceil(Math.min(Math.max(ms, 0), LONGEST_WAIT_MS));
  const exact = headers?.get("retry-after-ms")?.trim();
  if (exact && /^\d+(\.\d+)?$/.test(exact)) return bounded(Number(exact));
  const text = headers?.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000);
  const until = Date.parse(text);
  if (Number.isNaN(until)) return undefined;
  const theirs = Date.parse(headers?.get("date") ?? "");
  return bounded(until - (Number.isNaN(theirs) ? now : theirs));
}

function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < 8; at = at.cause) {
    chain.push(at);
    // Several addresses of one host were tried in turn; the first error is enough.
    if (at instanceof AggregateError && at.errors[0] instanceof Error) chain.push(at.errors[0]);
  }
  return chain;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Without a connection nothing was sent: the name lookup, the connection or the handshake failed. */
function isUnconnected(error: Error): boolean {
  const { syscall } = error as { readonly syscall?: unknown };
  return (
    syscall === "connect" ||
    syscall === "getaddrinfo" ||
    codeOf(error) === "UND_ERR_CONNECT_TIMEOUT" ||
    error.message.includes("before secure TLS connection was established")
  );
}

function isSocketTimeout(error: Error): boolean {
  return /^(UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT|ETIMEDOUT)$/.test(codeOf(error) ?? "");
}

function sentence(text: string): string {
  const short = text.length > 500 ? `${text.slice(0, 500)}…` : text;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

/** Shortens the text to one line of a screen. */
function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

function rule<Next extends NextOfCall>(
  next: Next,
  billed: Billed,
  sentence: string,
  fix: string,
): FailureRule & { readonly next: Next } {
  return { next, billed, sentence, fix };
}
