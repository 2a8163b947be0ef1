// The one place where a vendor's error becomes a failure of ours. A failure names what happens next: whether the engine may try
// the activity again, how long the endpoint asked it to wait, and whether the endpoint may have billed the attempt.
import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { ZodError } from "zod";
import { neutraliseText } from "./neutralise-text.ts";

/** `no`: the endpoint did not generate. `unknown`: it may have, so the budget counts the worst case. */
export type Billed = "no" | "unknown";

interface FailureRule {
  readonly retryable: boolean;
  readonly billed: Billed;
  readonly sentence: string;
}

export const modelFailureCodes = {
  MODEL_RATE_LIMITED: rule(true, "no", "The endpoint asked for fewer requests or tokens per minute."),
  MODEL_QUOTA_EXHAUSTED: rule(false, "no", "The account behind the API key has no credit left; add credit there."),
  MODEL_SERVER_ERROR: rule(true, "no", "The endpoint failed on its own side."),
  MODEL_UNREACHABLE: rule(true, "no", "No connection to the endpoint; check OPENAI_BASE_URL and the network."),
  MODEL_TIMEOUT: rule(true, "unknown", "The endpoint did not finish its reply in the time allowed."),
  MODEL_REPLY_CUT: rule(true, "unknown", "The connection ended before the reply did."),
  MODEL_REPLY_MALFORMED: rule(true, "unknown", "The reply is not the JSON of a chat completion."),
  MODEL_REPLY_HTML: rule(
    true,
    "no",
    "A web page came instead of a reply; check that OPENAI_BASE_URL ends in the API path.",
  ),
  MODEL_REPLY_EMPTY: rule(true, "unknown", "The reply holds no choice to read."),
  MODEL_REPLY_TOO_LARGE: rule(
    false,
    "unknown",
    "The reply is larger than MAX_REPLY_BYTES; lower the output tokens or raise it.",
  ),
  MODEL_KEY_MISSING: rule(
    false,
    "no",
    "The endpoint needs an API key; set OPENAI_API_KEY, or OPENAI_BASE_URL to one that needs none.",
  ),
  MODEL_KEY_REFUSED: rule(false, "no", "The endpoint refused the API key; set OPENAI_API_KEY to a valid one for it."),
  MODEL_NOT_FOUND: rule(
    false,
    "no",
    "The endpoint does not know this model or path; check the name and OPENAI_BASE_URL.",
  ),
  MODEL_NOT_IN_CATALOGUE: rule(false, "no", "The model is not in the catalogue."),
  MODEL_CONTEXT_EXCEEDED: rule(false, "no", "The conversation is longer than the model can read; shorten the prompt."),
  MODEL_REFUSED: rule(false, "no", "The model or its content filter declined to answer; reword the prompt."),
  MODEL_REQUEST_REFUSED: rule(false, "no", "The endpoint found the request invalid; its message says why."),
  MODEL_SCHEMA_UNUSABLE: rule(
    false,
    "no",
    "The reply schema cannot be checked; use only the keywords listed for schemas.",
  ),
  MODEL_URL_INVALID: rule(false, "no", "OPENAI_BASE_URL is not an http or https address; correct it."),
  MODEL_ABORTED: rule(true, "unknown", "The call was given up on our side before it was answered."),
} as const satisfies Record<string, FailureRule>;

export type ModelFailureCode = keyof typeof modelFailureCodes;

export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  readonly billed: Billed;
  /** What the endpoint asked for; absent when it asked for nothing. */
  readonly retryAfterMs?: number;

  constructor(code: ModelFailureCode, detail: string, given: { billed?: Billed; retryAfterMs?: number } = {}) {
    const known = modelFailureCodes[code];
    super(detail === "" ? known.sentence : `${known.sentence} ${detail}`);
    this.code = code;
    this.retryable = known.retryable;
    this.billed = given.billed ?? known.billed;
    if (given.retryAfterMs !== undefined) this.retryAfterMs = given.retryAfterMs;
  }
}

/** Thrown while a body is read, by the size guard of the client. */
export class ReplyTooLarge extends Error {}
/** Thrown before a body is read: its content type is not what was asked for. */
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
  /** Removed from every message, should the endpoint echo it. */
  readonly apiKey?: string;
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
  /** Our own two reasons to give up; the client's error alone does not tell them apart. */
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly now: number;
}

export function translateModelError(error: unknown, context: FailureContext): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const where = `(model ${context.model} at ${context.endpoint})`;
  const fail = (code: ModelFailureCode, why: string, given: { billed?: Billed; retryAfterMs?: number } = {}) =>
    new ModelFailure(code, clean(why === "" ? where : `${why} ${where}`, context.apiKey), given);

  const chain = causes(error);
  const tooLarge = chain.some((cause) => cause instanceof ReplyTooLarge);
  if (tooLarge) return fail("MODEL_REPLY_TOO_LARGE", `The limit is ${context.maxReplyBytes} bytes.`);
  const wrongKind = chain.find((cause) => cause instanceof ReplyOfWrongKind);
  if (wrongKind !== undefined) {
    const code = wrongKind.contentType.startsWith("text/html") ? "MODEL_REPLY_HTML" : "MODEL_REPLY_MALFORMED";
    return fail(code, `Its content type is "${wrongKind.contentType}".`);
  }
  if (context.aborted) return fail("MODEL_ABORTED", "");
  if (context.timedOut || error instanceof APIConnectionTimeoutError || chain.some(isSocketTimeout)) {
    return fail("MODEL_TIMEOUT", `The limit is ${context.timeoutMs} ms.`);
  }
  if (error instanceof APIUserAbortError) return fail("MODEL_ABORTED", "");
  if (error instanceof APIConnectionError) {
    const code = chain.map(codeOf).find((found) => found !== undefined);
    const why = code === undefined ? sentence(chain.at(-1)?.message ?? error.message) : `${code}.`;
    // A connection that broke after it stood may have carried the request.
    const reached = code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
    return fail("MODEL_UNREACHABLE", why, reached ? { billed: "unknown" } : {});
  }
  if (error instanceof APIError) return translateStatus(error, context, fail);
  if (error instanceof SyntaxError) return fail("MODEL_REPLY_MALFORMED", sentence(error.message));
  if (error instanceof ZodError) {
    const issue = error.issues[0];
    return fail("MODEL_REPLY_MALFORMED", sentence(`${issue?.path.join(".")}: ${issue?.message}`));
  }
  if (isCut(error)) {
    return fail("MODEL_REPLY_CUT", sentence(chain.at(-1)?.message ?? ""));
  }
  // A fault of our own (in onDelta, say) is not the endpoint's.
  throw error;
}

/** undici reports a body that ends early as TypeError "terminated", its reason in the cause. */
export function isCut(error: unknown): boolean {
  return error instanceof TypeError && error.message === "terminated";
}

function translateStatus(
  error: APIError,
  context: FailureContext,
  fail: (code: ModelFailureCode, why: string, given?: { billed?: Billed; retryAfterMs?: number }) => ModelFailure,
): ModelFailure {
  const status: number | undefined = error.status;
  const label = `${error.code ?? ""} ${error.type ?? ""}`;
  const html = /<html|<!doctype/i.test(error.message);
  const why = html ? `The answer was a web page with status ${status}.` : sentence(error.message);
  const wait = retryAfter(error.headers, context.now);
  const waiting = wait === undefined ? {} : { retryAfterMs: wait };

  if (/insufficient_quota|billing/.test(label) || status === 402) return fail("MODEL_QUOTA_EXHAUSTED", why);
  if (status === 429 || /rate_limit/.test(label)) return fail("MODEL_RATE_LIMITED", why, waiting);
  if (/context_length|request_too_large/.test(label) || status === 413) return fail("MODEL_CONTEXT_EXCEEDED", why);
  if (status === 400 && /context (length|window|size)|prompt is too long|too many tokens/i.test(error.message)) {
    return fail("MODEL_CONTEXT_EXCEEDED", why);
  }
  if (/content_filter|content_policy/.test(label)) return fail("MODEL_REFUSED", why);
  if (/invalid_api_key/.test(label) || status === 401 || status === 403) {
    return context.apiKey === undefined ? fail("MODEL_KEY_MISSING", why) : fail("MODEL_KEY_REFUSED", why);
  }
  if (/model_not_found|invalid_model/.test(label) || status === 404) return fail("MODEL_NOT_FOUND", why);
  // No status: an error event inside a stream that had begun.
  if (status === undefined) return fail("MODEL_SERVER_ERROR", why, { ...waiting, billed: "unknown" });
  // 408, 409 and 425 ask for the same request again.
  if (status >= 500 || status === 408 || status === 409 || status === 425) {
    return fail("MODEL_SERVER_ERROR", why, waiting);
  }
  return fail("MODEL_REQUEST_REFUSED", why);
}

const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/** retry-after-ms, or Retry-After as seconds or as a date. A date is read against the endpoint's own Date header when it has one. */
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
    // Several addresses of one host tried in turn; the first tells enough.
    if (at instanceof AggregateError && at.errors[0] instanceof Error) chain.push(at.errors[0]);
  }
  return chain;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function isSocketTimeout(error: Error): boolean {
  return /^(UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT|ETIMEDOUT)$/.test(codeOf(error) ?? "");
}

function sentence(text: string): string {
  const short = text.length > 500 ? `${text.slice(0, 500)}…` : text;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

function clean(text: string, apiKey: string | undefined): string {
  return neutraliseText(apiKey === undefined || apiKey === "" ? text : text.replaceAll(apiKey, "***"));
}

function rule(retryable: boolean, billed: Billed, sentence: string): FailureRule {
  return { retryable, billed, sentence };
}
