/** Places in a text that is filled when a node runs. */

/** Names as the engine fills them, as far as they look like names; other text in double braces belongs to the author. */
const placeholder = /\{\{[ \t]*([\p{L}_][\p{L}\p{M}\p{N}_ -]{0,99}?)[ \t]*\}\}/gu;

/** Names used in one line of text, with their columns, from 0. */
export function placesIn(text: string): { readonly name: string; readonly column: number }[] {
  if (!text.includes("{{")) return [];
  return Array.from(text.matchAll(placeholder), (match) => ({ name: match[1] ?? "", column: match.index }));
}

const filePlace = /\{\{[ \t]*file:[ \t]*([^{}\r\n]{0,200}?)[ \t]*\}\}/gi;

/** `{{file:path}}`, which is no place: a file is loaded by a node. Columns from 0. */
export function filePlacesIn(text: string): { readonly path: string; readonly column: number }[] {
  if (!text.includes("{{")) return [];
  return Array.from(text.matchAll(filePlace), (match) => ({ path: match[1] ?? "", column: match.index }));
}
