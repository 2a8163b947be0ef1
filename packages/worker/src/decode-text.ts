// Turns the bytes of a file, which a program may have written, into a text.
import { neutraliseText } from "@markmill/sandbox";

/** null: not a text. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly notes: readonly string[] } | null {
  const raw = new TextDecoder(encodingOf(bytes)).decode(bytes);
  if (raw.includes("\0")) return null;
  const text = neutraliseText(raw);
  const notes: string[] = [];
  if (!isWellFormed(bytes)) notes.push("is not UTF-8: what cannot be read is shown as U+FFFD");
  if (text !== raw.replaceAll(/\r\n?/g, "\n"))
    notes.push("contains characters that cannot be seen; they are written out");
  return { text, notes };
}

function encodingOf([first, second]: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

function isWellFormed(bytes: Uint8Array): boolean {
  try {
    new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
