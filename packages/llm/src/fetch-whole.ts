/**
 * A fetch for requests whose replies are read whole. It sends through undici's dispatcher itself, because fetch's own work (three copies of
 * the request, streams for both bodies) is most of the cost of a short reply.
 *
 * W1  Requests, replies and errors are the same as with fetch: TypeError "fetch failed" before the headers and "terminated" after them,
 *     each with its cause, or the reason of the signal. One difference: fetch's list of forbidden ports does not apply, because an endpoint
 *     may listen on any port.
 * W2  At most maxBytes of a body are held, both encoded and decoded. Beyond that its connection is destroyed.
 * W3  fetch itself handles the cases for which it has rules of its own: requests other than a POST of a text, and replies that redirect,
 *     after which it sends the request again. Such a reply comes from no model, so nothing is billed twice.
 * W4  A request is built before it waits for its slot, and it reports when the last byte of its reply has arrived. The next request for the
 *     slot then leaves at once. Only after that are replies parsed, a few per turn of the event loop: parsing one reply takes as long as
 *     sending several requests.
 * W5  An exchange ends once: complete, failed or given up. Later events of its connection change nothing.
 * W6  A request whose exchange ends before `onRequestStart` was never written: it was refused, given up, or timed out on the way to its
 *     connection.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { decoderFor, utf8 } from "./charset.ts";
import { connections } from "./connections.ts";
import { type Decoder, decodeBody, decodersFor } from "./decode-body.ts";
import { guardedFetch, isBodiless, refusalOf } from "./guarded-fetch.ts";
import { parsingRefused } from "./json-depth.ts";
import { ReplyTooLarge } from "./model-failure.ts";
import { type Departure, fetchInSlot, type InSlot, type ModelSlot } from "./model-slot.ts";
import { readEvents } from "./read-completion.ts";

/** `send`: the fetch for requests that are not read whole. */
export function createWholeFetch(maxBytes: number, send?: typeof fetch): typeof fetch {
  const guarded = guardedFetch(maxBytes, send);
  const ordinary = fetchInSlot(guarded);
  /** An endpoint that redirects does so every time, so later requests go directly through fetch. */
  let redirects = false;
  return async (input, init) => {
    const post = redirects ? null : postOf(input, init);
    if (post === null) return withCheckedText(await ordinary(input, init));
    post.signal?.throwIfAborted();
    await post.slot?.begin(post.signal ?? undefined);
    post.signal?.throwIfAborted();
    post.departure?.connecting();
    const reply = await new Exchange(post, maxBytes).send();
    if (reply instanceof WholeReply) return reply as unknown as Response;
    if (reply.redirects) redirects = true;
    // Its slot has begun already.
    const { slot: _, until: _until, departure: _departure, ...rest }: InSlot = init ?? {};
    return withCheckedText(await guarded(input, { ...rest, signal: post.signal }));
  };
}

interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal | null;
  readonly slot: ModelSlot | null;
  readonly departure: Departure | null;
}

const known: ReadonlySet<string> = new Set(["method", "headers", "body", "signal", "slot", "until", "departure"]);

/** null: fetch must send this request (W3). */
function postOf(input: Parameters<typeof fetch>[0], init: InSlot = {}): Post | null {
  const { method, body, slot = null, departure = null } = init;
  const signal = init.until ?? init.signal ?? null;
  if (typeof input !== "string" || method !== "POST" || typeof body !== "string") return null;
  for (const option in init) if (!known.has(option)) return null;
  const url = URL.parse(input);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
  // An empty query (a trailing question mark) is part of the URL, but the URL class drops it.
  if (url.search === "" && input.includes("?")) return null;
  return { url, headers: headersOf(init.headers, url.protocol === "https:"), body, signal, slot, departure };
}

/** Converts to Headers if necessary: that class refuses values that no header can carry. */
function headersOf(given: RequestInit["headers"], secure: boolean): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of given instanceof Headers ? given : new Headers(given)) {
    if (name !== "host") headers[name] = value;
  }
  headers["content-type"] ??= "text/plain;charset=UTF-8";
  headers.accept ??= "*/*";
  headers["accept-language"] ??= "*";
  headers["sec-fetch-mode"] ??= "cors";
  headers["user-agent"] ??= "undici";
  headers["accept-encoding"] ??= secure ? "br, gzip, deflate, zstd" : "gzip, deflate";
  return headers;
}

/** A reply for which fetch has rules of its own. */
interface Elsewhere {
  readonly redirects: boolean;
}

/** 407 comes from a proxy, 421 requests another connection. */
function elsewhereOf(status: number, headers: ReplyHeaders): Elsewhere | null {
  const redirects = [301, 302, 303, 307, 308].includes(status) && headers.get("location") !== null;
  return redirects || status === 407 || status === 421 ? { redirects } : null;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #post: Post;
  readonly #maxBytes: number;
  readonly #head = Promise.withResolvers<WholeReply | Elsewhere>();
  readonly #whole = Promise.withResolvers<Buffer>();
  readonly #body: BytesWithin;
  #reply: WholeReply | null = null;
  #decoders: readonly Decoder[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  /** True once the exchange has ended (W5). */
  #over = false;

  constructor(post: Post, maxBytes: number) {
    this.#post = post;
    this.#maxBytes = maxBytes;
    this.#body = new BytesWithin(maxBytes);
    // Some replies are never read.
    this.#whole.promise.catch(() => undefined);
  }

  send(): Promise<WholeReply | Elsewhere> {
    const { url, headers, body, signal } = this.#post;
    signal?.addEventListener("abort", this.#giveUp);
    const path = url.pathname + url.search;
    try {
      connections.dispatch({ origin: url.origin, path, method: "POST", headers, body }, this);
    } catch (error) {
      this.#fail(error);
    }
    return this.#head.promise;
  }

  /** The request is about to be written; `abort` destroys its connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // An exchange that is given up here is not written.
    if (this.#over) controller.abort(this.#post.signal?.reason);
    else this.#post.departure?.left();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    received: IncomingHttpHeaders,
    statusText = "",
  ): void {
    // Informational: the reply follows.
    if (status < 200 || this.#over) return;
    const headers = new ReplyHeaders(received);
    const elsewhere = elsewhereOf(status, headers);
    if (elsewhere !== null) {
      this.#head.resolve(elsewhere);
      this.#destroy(new Error("It is asked elsewhere."));
      return;
    }
    const mostValues = this.#post.url.pathname.endsWith("/embeddings") ? mostNumbers : mostParts;
    const reply = new WholeReply(status, statusText, headers, this.#whole.promise, mostValues);
    const refusal = refusalOf(reply, this.#maxBytes);
    const decoders = decodersFor(headers.get("content-encoding"));
    if (refusal !== null) this.#destroy(refusal);
    else if (decoders === "too many") this.#destroy(failed(new Error("too many content encodings")));
    else {
      this.#decoders = decoders;
      this.#reply = reply;
      this.#head.resolve(reply);
      if (isBodiless(status)) this.#whole.resolve(Buffer.alloc(0));
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (!this.#over && !this.#body.add(piece)) this.#destroy(new ReplyTooLarge());
  }

  onResponseEnd(): void {
    if (this.#over) return;
    // The reply is here, and paid for (I3): an abort from now on no longer drops it.
    this.#post.signal?.removeEventListener("abort", this.#giveUp);
    readInTurn(() => this.#read(this.#body.all()));
    this.#post.slot?.arrived();
  }

  #read(body: Buffer): void {
    if (this.#decoders.length === 0) this.#deliver(body);
    else {
      decodeBody(body, this.#decoders, this.#maxBytes).then(
        (decoded) => this.#deliver(decoded),
        (error: unknown) => this.#end(error instanceof ReplyTooLarge ? error : terminated(error)),
      );
    }
  }

  /** Also for what the dispatcher refuses to send. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#end(this.#reply === null ? failed(error) : terminated(error));
  }

  readonly #giveUp = (): void => this.#destroy(this.#post.signal?.reason);

  /** If there is no connection yet, onRequestStart destroys it later. */
  #destroy(reason: unknown): void {
    this.#end(reason);
    this.#controller?.abort(reason as Error);
  }

  #deliver(bytes: Buffer): void {
    this.#whole.resolve(bytes);
    this.#end(null);
  }

  /** A promise that was settled before keeps its value. */
  #end(reason: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#post.signal?.removeEventListener("abort", this.#giveUp);
    this.#head.reject(reason);
    this.#whole.reject(reason);
  }
}

/** W4: about a millisecond of work. */
const perTurn = 3;
const arrived: (() => void)[] = [];

function readInTurn(read: () => void): void {
  if (arrived.push(read) === 1) setImmediate(readSome);
}

function readSome(): void {
  const some = arrived.splice(0, perTurn);
  if (arrived.length > 0) setImmediate(readSome);
  for (const read of some) read();
}

function failed(cause: unknown): TypeError {
  return new TypeError("fetch failed", { cause });
}

function terminated(cause: unknown): TypeError {
  return new TypeError("terminated", { cause });
}

/**
 * Limits for the number of JSON values. Vectors for many texts have some hundred thousand numbers; an answer has a few parts and tool
 * calls.
 */
const mostNumbers = 500_000;
const mostParts = 50_000;

/** The part of a Response that the library reads when it does not stream. */
class WholeReply {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly headers: ReplyHeaders;
  readonly url = "";
  readonly body = null;
  readonly #whole: Promise<Buffer>;
  readonly #mostValues: number;

  constructor(status: number, statusText: string, headers: ReplyHeaders, whole: Promise<Buffer>, mostValues: number) {
    this.ok = status < 300;
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.#whole = whole;
    this.#mostValues = mostValues;
  }

  /** The library parses this text, for JSON and for every error. */
  async text(): Promise<string> {
    const contentType = this.headers.get("content-type");
    const text = (decoderFor(contentType) ?? utf8).decode(await this.#whole);
    return checked(text, this.ok, contentType, this.#mostValues);
  }
}

/** Throws if the text must not be parsed. */
function checked(text: string, ok: boolean, contentType: string | null, mostValues: number): string {
  const isJson = /[/+]json\b/i.test(contentType ?? "");
  // An event stream with a JSON content type is reported as an event stream.
  if (ok && isJson && /^\s{0,20}(?:data|event|id|retry)?:/.test(text)) return readEvents(text);
  const why = !ok || isJson ? parsingRefused(text, mostValues) : null;
  if (why !== null) throw new SyntaxError(why);
  return text;
}

/** Wraps a reply that fetch itself received. */
function withCheckedText(response: Response): Response {
  const read = response.text.bind(response);
  const text = async () => checked(await read(), response.ok, response.headers.get("content-type"), mostNumbers);
  return Object.defineProperty(response, "text", { value: text });
}

class ReplyHeaders {
  readonly #values = new Map<string, string>();

  constructor(received: IncomingHttpHeaders) {
    for (const [name, value = ""] of Object.entries(received)) {
      this.#values.set(name, typeof value === "string" ? value : value.join(", "));
    }
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  entries(): MapIterator<[string, string]> {
    return this.#values.entries();
  }
}

/** Collects pieces in one growing buffer: many small pieces need no more memory than their bytes. */
class BytesWithin {
  readonly #most: number;
  #held: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(maxBytes: number) {
    this.#most = maxBytes;
  }

  /** Returns false if the limit is exceeded. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#most) return false;
    // Most bodies come in one piece.
    if (this.#length === 0) this.#held = piece;
    else {
      if (length > this.#held.length) this.#grow(Math.min(Math.max(length, 2 * this.#held.length), this.#most));
      piece.copy(this.#held, this.#length);
    }
    this.#length = length;
    return true;
  }

  all(): Buffer {
    return this.#held.subarray(0, this.#length);
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafeSlow(size);
    this.#held.copy(grown, 0, 0, this.#length);
    this.#held = grown;
  }
}
