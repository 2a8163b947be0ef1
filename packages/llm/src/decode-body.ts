/**
 * Removes the content encodings of a body. It supports the encodings that fetch decodes, is as lenient as fetch, and refuses output beyond
 * a limit.
 */
import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import { ReplyTooLarge } from "./model-failure.ts";

/** Honest servers do not nest encodings, and each one costs work. */
const MOST_ENCODINGS = 5;

export type Decoder = (bytes: Buffer, maxOutputLength: number) => Promise<Buffer>;

// A body that ends early is decoded as far as possible; some servers need this.
const lenient = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };
const zstd = { flush: constants.ZSTD_e_continue, finishFlush: constants.ZSTD_e_end };

const [gunzipped, inflated, inflatedRaw] = [promisify(gunzip), promisify(inflate), promisify(inflateRaw)] as const;
const [unbrotlied, unzstded] = [promisify(brotliDecompress), promisify(zstdDecompress)] as const;

const gzip: Decoder = async (bytes, maxOutputLength) => await gunzipped(bytes, { ...lenient, maxOutputLength });

const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["br", async (bytes, maxOutputLength) => await unbrotlied(bytes, { ...brotli, maxOutputLength })],
  ["zstd", async (bytes, maxOutputLength) => await unzstded(bytes, { ...zstd, maxOutputLength })],
  [
    "deflate",
    async (bytes, maxOutputLength) => {
      // Two formats use this name. The first one is recognised by its first byte.
      const decode = ((bytes[0] ?? 0) & 0x0f) === 8 ? inflated : inflatedRaw;
      return await decode(bytes, { ...lenient, maxOutputLength });
    },
  ],
]);

/** The decoders in the order in which to apply them. Empty if an encoding is unknown: then the body stays unchanged. */
export function decodersFor(contentEncoding: string | null): readonly Decoder[] | "too many" {
  if (contentEncoding === null || contentEncoding === "") return [];
  const names = contentEncoding.toLowerCase().split(",");
  if (names.length > MOST_ENCODINGS) return "too many";
  const found = names.map((name) => decoders.get(name.trim())).reverse();
  return found.every((decoder) => decoder !== undefined) ? found : [];
}

export async function decodeBody(body: Buffer, by: readonly Decoder[], maxBytes: number): Promise<Buffer> {
  let bytes = body;
  for (const decode of by) {
    if (bytes.length === 0) break;
    try {
      bytes = await decode(bytes, maxBytes);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? new ReplyTooLarge() : error;
    }
  }
  return bytes;
}
