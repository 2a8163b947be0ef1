/**
 * Reads the uploaded file of a request: its bytes as the body, or the single file of a form.
 *
 * U1  A request without a file (a form of text fields, another kind of multipart, no body at all) is refused with 415: a form is never
 *     stored as a file.
 * U2  The bytes of a file are stored unchanged. A body or part that is encoded for transport (`Content-Encoding`,
 *     `Content-Transfer-Encoding`) is refused with 415: it is not decoded here, so the stored bytes would not be the file.
 * U3  At most as many bytes are read as may be stored.
 */
import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { formFile } from "./form-file.ts";
import { Refusal } from "./refusal.ts";

export interface Upload {
  /** The client's name for the file. null: the body is the file itself and has no name. */
  readonly name: string | null;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The space for boundaries and headers of the parts of a form. */
const envelopeBytes = 64 * 1024;
const howToSend =
  "Send the bytes with curl --data-binary @answer.py -H 'content-type: application/octet-stream', or a form with curl -F file=@answer.py.";

export async function uploadOf(asked: FastifyRequest, most: number): Promise<Upload> {
  const { body, headers } = asked;
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (
    type === "application/x-www-form-urlencoded" ||
    (type.startsWith("multipart/") && type !== "multipart/form-data")
  ) {
    throw new Refusal("UNSUPPORTED_TYPE", {
      detail: `${type} is not a file.`,
      hint: howToSend,
    });
  }
  const packed = packedAs(headers);
  if (packed !== null) {
    const detail = `The body is compressed (Content-Encoding: ${packed}). The server would store the compressed bytes instead of the file.`;
    throw new Refusal("UNSUPPORTED_TYPE", { detail, hint: `Remove Content-Encoding. ${howToSend}` });
  }
  if (!(body instanceof Readable)) {
    // An empty file has a length or a type.
    if (type === "" && headers["content-length"] === undefined) {
      throw new Refusal("UNSUPPORTED_TYPE", { detail: "The request has no body.", hint: howToSend });
    }
    return { name: null, content: nothing() };
  }
  const form = type === "multipart/form-data";
  if (Number(headers["content-length"] ?? 0) > most + (form ? envelopeBytes : 0)) throw tooLarge(most);
  if (!form) return { name: null, content: measured(body, most) };
  const { name, content } = await formFile(headers, body);
  return { name, content: measured(content, most) };
}

/** The `Content-Encoding` of a body, shortened. null: the body is not encoded. */
export function packedAs(headers: IncomingHttpHeaders): string | null {
  const encodings = (headers["content-encoding"] ?? "").toLowerCase().split(",");
  const packed = encodings.map((one) => one.trim()).find((one) => one !== "" && one !== "identity");
  return packed?.slice(0, 40) ?? null;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* measured(content: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of content) {
    size += piece.length;
    if (size > most) throw tooLarge(most);
    yield piece;
  }
}

function tooLarge(most: number): Refusal {
  return new Refusal("TOO_LARGE", { detail: `An upload may have at most ${most} bytes (API_UPLOAD_MB).` });
}
