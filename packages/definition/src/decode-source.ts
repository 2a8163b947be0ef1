import type { FindingReport } from "./finding-codes.ts";

export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Decodes a file as text: UTF-8 without a byte order mark, with line feeds as line ends. Returns null and reports an error if the bytes are
 * not text or are too many.
 */
export function decodeSource(bytes: Uint8Array, file: string, report: FindingReport): string | null {
  const start = { file, line: 1, column: 1 };
  if (bytes.length > MAX_FILE_BYTES) {
    report.error(
      "FILE_TOO_LARGE",
      start,
      `The file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB.`,
      "Put long texts into a separate file and pass it to the run in the submission.",
    );
    return null;
  }
  const invalid = firstInvalidByte(bytes);
  if (invalid !== null) {
    const line = countLines(bytes, invalid);
    report.error(
      "NOT_UTF8",
      { file, line, column: 1 },
      `Byte ${invalid} (0x${(bytes[invalid] ?? 0).toString(16).padStart(2, "0")}) is not valid UTF-8.`,
      "Save the file with the encoding UTF-8.",
    );
    return null;
  }
  return normaliseText(new TextDecoder("utf-8").decode(bytes), file, report);
}

/** Does the same as decodeSource for text that is already decoded. */
export function normaliseText(raw: string, file: string, report: FindingReport): string | null {
  const text = raw.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const nul = text.indexOf("\0");
  if (nul < 0) return text;
  const line = text.slice(0, nul).split("\n").length;
  report.error(
    "NUL_CHARACTER",
    { file, line, column: nul - text.lastIndexOf("\n", nul) },
    "The text contains a NUL character; it looks like a binary file.",
    "Remove the character, or name a text file.",
  );
  return null;
}

function countLines(bytes: Uint8Array, end: number): number {
  let lines = 1;
  for (let at = 0; at < end; at++) if (bytes[at] === 0x0a) lines++;
  return lines;
}

/** Well-formed means table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. */
function firstInvalidByte(bytes: Uint8Array): number | null {
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at] ?? 0;
    if (lead < 0x80) {
      at += 1;
      continue;
    }
    const length =
      lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
    if (length === 0) return at;
    const second = bytes[at + 1] ?? 0;
    const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return at;
    for (let next = 2; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return at;
    at += length;
  }
  return null;
}
