/**
 * Writes the JSON of an answer. A list holds texts of students, models and programs, of any length: its items are written one after the
 * other, with other work of the process between them. So a page of a class, 400 MB at the worst, keeps no other request waiting.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Characters: written in a few milliseconds. */
const slice = 256 * 1024;

/** Pieces of one text. A short answer is one piece. */
export async function writeJson(body: unknown): Promise<readonly string[]> {
  if (!isPage(body)) return [JSON.stringify(body)];
  const { items, ...rest } = body;
  const pieces: string[] = [];
  let begun = '{"items":[';
  for (const [at, item] of items.entries()) {
    begun += `${at === 0 ? "" : ","}${JSON.stringify(item) ?? "null"}`;
    if (begun.length < slice) continue;
    pieces.push(begun);
    begun = "";
    await nextTurn();
  }
  const others = JSON.stringify(rest).slice(1);
  return [...pieces, `${begun}]${others === "}" ? "" : ","}${others}`];
}

function isPage(body: unknown): body is { readonly items: readonly unknown[] } {
  return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items);
}
