/**
 * Returns the first key that occurs twice in one object of a JSON text, or null. JSON.parse silently keeps the last value. The text is read
 * once and may be invalid JSON; the parser reports that.
 */

export function repeatedKey(text: string): string | null {
  /** Keys seen in each open object. null: a list. */
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{") open.push(new Set());
    else if (char === "[") open.push(null);
    else if (char === "}" || char === "]") open.pop();
    else if (char === '"') {
      const end = stringEnd(text, at);
      const keys = open.at(-1);
      if (keys !== undefined && keys !== null && isKey(text, end)) {
        const key = unescaped(text.slice(at, end));
        if (keys.has(key)) return key;
        keys.add(key);
      }
      at = end - 1;
    }
  }
  return null;
}

/** The index after the closing quote. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function isKey(text: string, from: number): boolean {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return text[at] === ":";
}

/** Two escaped spellings of one key are the same key. */
function unescaped(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}
