/** A fetch that refuses a body as soon as it is too large or clearly not a reply, so that it is never held whole. */
import { TextDecoder } from "node:util";
import { decoderFor, utf8 } from "./charset.ts";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";
import { ReplyOfWrongKind, ReplyTooLarge } from "./model-failure.ts";

const NEWLINE = 0x0a;

export function guardedFetch(maxBytes: number, send: typeof fetch = fetchWithoutTimeouts): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const refusal = refusalOf(response, maxBytes);
    if (refusal !== null) {
      await response.body?.cancel();
      throw refusal;
    }
    if (response.body === null) return response;
    const decoder = decoderFor(response.headers.get("content-type")) ?? utf8;
    const streamed = isStreamed(response.headers);
    // The body is within the limit, or was refused above.
    if (!streamed && declaredBytes(response.headers) !== null && decoder === utf8) return response;
    let bytes = 0;
    const guard = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        // Of a stream only the current event is held; the stream's reader counts its text.
        const newline = streamed ? chunk.lastIndexOf(NEWLINE) : -1;
        bytes = newline === -1 ? bytes + chunk.length : chunk.length - newline - 1;
        if (bytes > maxBytes) controller.error(new ReplyTooLarge());
        else controller.enqueue(chunk);
      },
    });
    const guarded = response.body.pipeThrough(guard);
    // Response reads only UTF-8.
    const read = decoder === utf8 ? guarded : guarded.pipeThrough(inUtf8(decoder));
    return new Response(read, response);
  };
}

function inUtf8(decoder: TextDecoder): TransformStream<Uint8Array, Uint8Array> {
  const own = new TextDecoder(decoder.encoding);
  const encoder = new TextEncoder();
  return new TransformStream({
    transform: (chunk, controller) => controller.enqueue(encoder.encode(own.decode(chunk, { stream: true }))),
    flush: (controller) => controller.enqueue(encoder.encode(own.decode())),
  });
}

interface Named {
  get(name: string): string | null;
}

interface Head {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Named;
}

/** These replies may declare a length, but have no body. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** An error if the headers show that this is not a usable reply. */
export function refusalOf({ ok, status, headers }: Head, maxBytes: number): ReplyOfWrongKind | ReplyTooLarge | null {
  const contentType = contentTypeOf(headers);
  const streamed = isStreamed(headers);
  // Lines of JSON are read, so that the error can name them.
  const isJson = /\bjson\b|\b(x-)?(ndjson|jsonl(ines)?)\b/.test(contentType);
  if (ok && !((streamed || isJson) && decoderFor(contentType) !== null)) return new ReplyOfWrongKind(contentType);
  const declared = streamed || isBodiless(status) ? null : declaredBytes(headers);
  return declared === null || declared <= maxBytes ? null : new ReplyTooLarge();
}

function contentTypeOf(headers: Named): string {
  return headers.get("content-type") ?? "none";
}

function isStreamed(headers: Named): boolean {
  return contentTypeOf(headers).startsWith("text/event-stream");
}

/** null: the headers do not give the length of the decoded body. */
function declaredBytes(headers: Named): number | null {
  const declared = headers.get("content-length");
  return declared === null || headers.get("content-encoding") !== null ? null : Number(declared);
}
