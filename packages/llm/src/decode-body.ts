/** A body as it was before its content encodings: those that fetch decodes, read as leniently, and refused beyond a limit. */
import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import { ReplyTooLarge } from "./model-failure.ts";

/** Nobody nests them honestly, and each is work. */
const MOST_ENCODINGS = 5;

export type Decoder = (bytes: Buffer, maxOutputLength: number) => Promise<Buffer>;

// A body that ends early is taken as far as it goes, which some servers need.
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
      // Two formats go by this name; the first tells itself by its first byte.
      const decode = ((bytes[0] ?? 0) & 0x0f) === 8 ? inflated : inflatedRaw;
      return await decode(bytes, { ...lenient, maxOutputLength });
    },
  ],
]);

/** In the order in which they are to be taken off; none where one of them is unknown: the body is then left as it came. */
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
