/** fetch, with the body refused as soon as it is too large or plainly not a reply, so it is never held whole. */
import { TextDecoder } from "node:util";
import { decoderFor, utf8 } from "./charset.ts";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";
import { ReplyOfWrongKind, ReplyTooLarge } from "./model-failure.ts";

const NEWLINE = 0x0a;

export function guardedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetchWithoutTimeouts(input, init);
    const refusal = refusalOf(response, maxBytes);
    if (refusal !== null) {
      await response.body?.cancel();
      throw refusal;
    }
    if (response.body === null) return response;
    const decoder = decoderFor(response.headers.get("content-type")) ?? utf8;
    const streamed = isStreamed(response.headers);
    // It is within the limit, or was refused above.
    if (!streamed && declaredBytes(response.headers) !== null && decoder === utf8) return response;
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
    const guarded = response.body.pipeThrough(guard);
    // Response reads UTF-8 only.
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

/** A length may be told with these, and nothing follows. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** What is known to be no reply before its body is read. */
export function refusalOf({ ok, status, headers }: Head, maxBytes: number): ReplyOfWrongKind | ReplyTooLarge | null {
  const contentType = contentTypeOf(headers);
  const streamed = isStreamed(headers);
  // Lines of JSON are read, to be told as what they are.
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

/** null: the body does not say how long it is once it is decoded. */
function declaredBytes(headers: Named): number | null {
  const declared = headers.get("content-length");
  return declared === null || headers.get("content-encoding") !== null ? null : Number(declared);
}
