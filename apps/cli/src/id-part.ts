/** Handles ids as people type them: a whole one, or a part of it. The store finds a part in ids of any age. */

import { stamp } from "./stamp.ts";

export const mostCandidates = 8;

export function isWholeId(word: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word);
}

/** A shorter part is refused, because it would match many ids. */
export function isIdPart(word: string): boolean {
  return /^[0-9a-f-]{4,36}$/i.test(word);
}

/** Applies the store's rule. A server of an older version also lists other ids. */
export function hasIdPart({ id }: { readonly id: string }, part: string): boolean {
  const wanted = part.toLowerCase();
  return id.endsWith(wanted) || (wanted.length >= 8 && id.startsWith(wanted));
}

/** One line for each possible meaning of a word. */
export function listCandidates(
  all: readonly { readonly id: string; readonly name: string; readonly createdAt: Date }[],
): string {
  const lines = all.slice(0, mostCandidates).map(({ id, name, createdAt }) => `  ${id}  ${stamp(createdAt)}  ${name}`);
  return [...lines, ...(all.length > mostCandidates ? ["  …"] : []), "Type more characters or the whole id."].join(
    "\n",
  );
}
