/** Finds placeholders in a text that is filled when a node runs. */

const braces = /\{\{([^{}]*)\}\}/g;

/** The names that the engine fills. Any other text in double braces belongs to the author. */
const placeName = /^[\p{L}_][\p{L}\p{M}\p{N}_ -]{0,99}$/u;

/** The names in one line of text, with their columns, counted from 0. */
export function placesIn(text: string): { readonly name: string; readonly column: number }[] {
  return inBraces(text, ({ inner, column }) => (placeName.test(inner) ? [{ name: inner, column }] : []));
}

const longestPath = 200;

/** Finds `{{file:path}}`, which is not a placeholder, because only a node loads a file. Columns are counted from 0. */
export function filePlacesIn(text: string): { readonly path: string; readonly column: number }[] {
  return inBraces(text, ({ inner, column }) => {
    if (!/^file:/i.test(inner) || /[\r\n]/.test(inner)) return [];
    const path = withoutBlanks(inner.slice("file:".length));
    return path.length > longestPath ? [] : [{ path, column }];
  });
}

/** The inner text has no blanks and tabs around it. */
function inBraces<T>(text: string, read: (found: { inner: string; column: number }) => T[]): T[] {
  if (!text.includes("{{")) return [];
  return Array.from(text.matchAll(braces)).flatMap(({ 1: inner = "", index }) =>
    read({ inner: withoutBlanks(inner), column: index }),
  );
}

function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (isBlank(text[from])) from += 1;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return text.slice(from, to);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
