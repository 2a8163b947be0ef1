/**
 * Decodes a caption or label to the text that its author means: entities in both spellings of mermaid (`#quot;`, `&quot;`), and `<br>` and
 * a literal `\n` as line breaks. It makes one pass, so decoded text is never decoded again (`&amp;gt;` becomes `&gt;`). All other HTML and
 * Markdown stays unchanged.
 */
import { decodeNamedCharacterReference } from "decode-named-character-reference";
import { ampersand, backslash, carriageReturn, hash, less, newline, semicolon } from "./character-codes.ts";

/** The longest name in HTML's table has 31 characters. This bound keeps the work linear for a text full of `&`. */
const longestEntity = 32;

export interface Decoded {
  readonly text: string;
  /** The position of the first literal `\n` that became a line break. */
  readonly escapedBreak: number | null;
}

/** `escapes`: decode backslash escapes as in a double-quoted YAML string, for `@{ key: "value" }`. Unknown escapes stay unchanged. */
export function decodeCaption(raw: string, escapes = false): Decoded {
  let escapedBreak: number | null = null;
  let decoded = "";
  let kept = 0;
  let at = 0;
  while (at < raw.length) {
    const special = readSpecial(raw, at, escapes);
    if (special === null) {
      at++;
      continue;
    }
    if (special.text === "\n" && raw.charCodeAt(at) === backslash) escapedBreak ??= at;
    decoded += raw.slice(kept, at) + special.text;
    at = special.end;
    kept = at;
  }
  return { text: kept === 0 ? raw : decoded + raw.slice(kept), escapedBreak };
}

interface Special {
  readonly text: string;
  readonly end: number;
}

function readSpecial(raw: string, at: number, escapes: boolean): Special | null {
  switch (raw.charCodeAt(at)) {
    case ampersand:
    case hash:
      return readEntity(raw, at);
    case less:
      return readBreak(raw, at);
    case backslash:
      return readEscape(raw, at, escapes);
    case carriageReturn:
      return raw.charCodeAt(at + 1) === newline ? { text: "\n", end: at + 2 } : null;
    default:
      return null;
  }
}

/** Reads `#quot;`, `#35;`, `&quot;`, `&#35;`, `&#x23;`. */
function readEntity(raw: string, at: number): Special | null {
  const both = raw.charCodeAt(at) === ampersand && raw.charCodeAt(at + 1) === hash;
  const start = both ? at + 2 : at + 1;
  let end = start;
  while (end - start < longestEntity && isWordCode(raw.charCodeAt(end))) end++;
  if (end === start || raw.charCodeAt(end) !== semicolon) return null;
  const name = raw.slice(start, end);
  const text =
    (raw.charCodeAt(start - 1) === hash ? decodeNumber(name) : null) ??
    (both ? null : decodeNamedCharacterReference(name) || null);
  return text === null ? null : { text, end: end + 1 };
}

/** Decodes `35` or `x23`. */
function decodeNumber(digits: string): string | null {
  const code = /^[0-9]+$/.test(digits)
    ? Number(digits)
    : /^x[0-9a-f]+$/i.test(digits)
      ? Number.parseInt(digits.slice(1), 16)
      : Number.NaN;
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : null;
}

/** Reads `<br>`, `<br/>`, `<br />` in any case. */
function readBreak(raw: string, at: number): Special | null {
  if ((raw.charCodeAt(at + 1) | 0x20) !== 0x62 || (raw.charCodeAt(at + 2) | 0x20) !== 0x72) return null;
  let end = at + 3;
  if (raw.charCodeAt(end) === 0x20) end++;
  if (raw.charCodeAt(end) === 0x2f) end++;
  return raw.charCodeAt(end) === 0x3e ? { text: "\n", end: end + 1 } : null;
}

function readEscape(raw: string, at: number, escapes: boolean): Special | null {
  const escaped = raw.charAt(at + 1);
  if (escaped === "n") return { text: "\n", end: at + 2 };
  if (!escapes) return null;
  if (escaped === "\\" || escaped === '"' || escaped === "/") return { text: escaped, end: at + 2 };
  return escaped === "t" ? { text: "\t", end: at + 2 } : null;
}

function isDigitCode(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isWordCode(code: number): boolean {
  return isDigitCode(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a);
}
