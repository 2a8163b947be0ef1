/** Ids as people type them: a whole one, or a part of it, by which the store finds it however old it is. */

import { stamp } from "./stamp.ts";

export const mostCandidates = 8;

export function isWholeId(word: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word);
}

/** A shorter one is refused: it would fit many. */
export function isIdPart(word: string): boolean {
  return /^[0-9a-f-]{4,36}$/i.test(word);
}

/** As the store has it. A server of an older version lists others too. */
export function hasIdPart({ id }: { readonly id: string }, part: string): boolean {
  const wanted = part.toLowerCase();
  return id.endsWith(wanted) || (wanted.length >= 8 && id.startsWith(wanted));
}

/** One line for each that a word may mean. */
export function listCandidates(
  all: readonly { readonly id: string; readonly name: string; readonly createdAt: Date }[],
): string {
  const lines = all.slice(0, mostCandidates).map(({ id, name, createdAt }) => `  ${id}  ${stamp(createdAt)}  ${name}`);
  return [...lines, ...(all.length > mostCandidates ? ["  …"] : []), "Type more characters or the whole id."].join(
    "\n",
  );
}
