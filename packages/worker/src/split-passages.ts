/**
 * Splits a text into passages that can be found separately. It cuts where a reader would pause (paragraphs, lines, sentences, words), and
 * each passage is as long as fits. Passages with too little text are dropped.
 */
const mostCharacters = 250;
const fewestBytes = 25;

/**
 * Ends of units, from the largest to the smallest. A row of full stops matches only from its beginning, so each pattern reads in linear
 * time.
 */
const boundaries = [/\n\s*\n/gu, /\n/gu, /(?<![.!?…。！？])[.!?…。！？]+["'”’)\]]*\s+/gu, /\s+/gu];

export function splitPassages(text: string): readonly string[] {
  return pieces(text, 0)
    .map((piece) => piece.trim())
    .filter((piece) => Buffer.byteLength(piece) >= fewestBytes);
}

function pieces(text: string, level: number): string[] {
  if (fits(text)) return [text];
  const boundary = boundaries[level];
  if (boundary === undefined) return cutHard(text);
  const parts: string[] = [];
  let from = 0;
  for (const { index, 0: end } of text.matchAll(boundary)) {
    parts.push(text.slice(from, index + end.length));
    from = index + end.length;
  }
  parts.push(text.slice(from));
  const joined: string[] = [];
  let held = "";
  for (const part of parts) {
    // Space at the ends does not count. Otherwise millions of empty lines would be measured again with each part.
    if (part.trim() === "") {
      if (held !== "" && held.length < 4 * mostCharacters) held += part.slice(0, 4 * mostCharacters - held.length);
      continue;
    }
    if (fits(held + part)) {
      held += part;
      continue;
    }
    if (held !== "") joined.push(held);
    held = "";
    if (fits(part)) held = part;
    else joined.push(...pieces(part, level + 1));
  }
  if (held !== "") joined.push(held);
  return joined;
}

/** Without the surrounding space. A character is a Unicode character. */
function fits(text: string): boolean {
  if (text.length > 4 * mostCharacters) return false;
  const trimmed = text.trim();
  return trimmed.length <= mostCharacters || [...trimmed].length <= mostCharacters;
}

function cutHard(text: string): string[] {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / mostCharacters) }, (_, at) =>
    characters.slice(at * mostCharacters, (at + 1) * mostCharacters).join(""),
  );
}
