// Decodes the bytes of a table. Spreadsheets write UTF-8 with and without a byte order mark, UTF-16, and the Windows code page.

type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
  readonly bom: boolean;
  /** The encoding is a guess: the bytes are not UTF-8 and have no byte order mark. */
  readonly guessed: boolean;
}

export function decodeText(bytes: Uint8Array): DecodedText {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) {
    const text = strictUtf8(bytes.subarray(3));
    if (text !== null) return { text, encoding: "utf-8", bom: true, guessed: false };
  }
  if (first === 0xff && second === 0xfe) return wide(bytes, "utf-16le");
  if (first === 0xfe && second === 0xff) return wide(bytes, "utf-16be");
  const text = strictUtf8(bytes);
  if (text !== null) return { text, encoding: "utf-8", bom: false, guessed: false };
  return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "windows-1252", bom: false, guessed: true };
}

function wide(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): DecodedText {
  return { text: new TextDecoder(encoding).decode(bytes), encoding, bom: true, guessed: false };
}

function strictUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
