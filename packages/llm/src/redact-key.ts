/**
 * Removes an API key from text that an endpoint sent: errors and replies may echo it whole, encoded, or in part. It needs the whole text:
 * cut a text only afterwards.
 *
 * K1  Every run of PIECE or more consecutive characters of the key, in any of its encodings, becomes ***: a part of the key is as secret as
 *     the key.
 * K2  A key shorter than SHORTEST is a placeholder ("none", "ollama"), and a reply may contain this word. In failures it is removed too.
 * K3  An encoded form shorter than PIECE is removed only where it is a separate word: the key "test" does not change "latest".
 */
const PIECE = 12;
const SHORTEST = 8;

export type Redactor = (text: string) => string;

export function redactorOf(key: string | undefined, where: "reply" | "failure"): Redactor {
  if (key === undefined || key === "" || (where === "reply" && key.length < SHORTEST)) return (text) => text;
  const spellings = spellingsOf(key);
  const pieces = new Set<string>();
  for (const spelling of spellings)
    for (let at = 0; at + PIECE <= spelling.length; at++) pieces.add(spelling.slice(at, at + PIECE));
  const pairs = new Set<number>();
  for (const piece of pieces) for (let at = 1; at < PIECE; at++) pairs.add(pairAt(piece, at));
  const short = spellings.filter(({ length }) => length < PIECE).map(wordOf);
  return (text) => {
    let clean = withoutPieces(text, pieces, pairs);
    for (const word of short) clean = clean.replaceAll(word, "***");
    return clean;
  };
}

/** A word may follow an escaped line break, as JSON writes one. */
function wordOf(spelling: string): RegExp {
  const escaped = spelling.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}_])|(?<=\\\\[nrt]))${escaped}(?![\\p{L}\\p{N}_])`, "gu");
}

function spellingsOf(key: string): string[] {
  const percent = encodeURIComponent(key);
  const all = [
    key,
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    [...Buffer.from(key)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
    JSON.stringify(key).slice(1, -1),
    Buffer.from(key)
      .toString("base64")
      .replace(/(?<!=)=+$/, ""),
    Buffer.from(key).toString("base64url"),
    Buffer.from(key).toString("hex"),
  ];
  return [...new Set(all)].sort((one, other) => other.length - one.length);
}

/** The character at this position and the one before it. */
function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at - 1) << 16) | text.charCodeAt(at);
}

function withoutPieces(text: string, pieces: ReadonlySet<string>, pairs: ReadonlySet<number>): string {
  if (pieces.size === 0) return text;
  const out: string[] = [];
  let kept = 0;
  for (let at = 0; at + PIECE <= text.length; ) {
    // If these two characters are never adjacent in the key, no text that contains both can be part of the key. This skips most text.
    if (!pairs.has(pairAt(text, at + PIECE - 1))) {
      at += PIECE - 1;
      continue;
    }
    if (!pieces.has(text.slice(at, at + PIECE))) {
      at += 1;
      continue;
    }
    let end = at + 1;
    while (end + PIECE <= text.length && pieces.has(text.slice(end, end + PIECE))) end += 1;
    out.push(text.slice(kept, at), "***");
    kept = end - 1 + PIECE;
    at = kept;
  }
  out.push(text.slice(kept));
  return out.join("");
}
