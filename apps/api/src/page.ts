/** Cursors and filters of lists. */
import { Refusal } from "./refusal.ts";

export function pageOf({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) {
  return { limit, ...(cursor === undefined ? {} : { after: cursor }) };
}

export function placeOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,15}$/.test(cursor))
    throw new Refusal("INVALID", { errors: [{ path: "query.cursor", message: "is not a cursor of this server" }] });
  return Number(cursor);
}

/** Reads `KEY=VALUE` into a record. null: a key has two values, so no object can match. */
export function pairs(given: readonly string[] | undefined): Record<string, string> | undefined | null {
  if (given === undefined) return undefined;
  const record = new Map<string, string>();
  for (const one of given) {
    const [key, value] = [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)];
    if ((record.get(key) ?? value) !== value) return null;
    record.set(key, value);
  }
  return Object.fromEntries(record);
}
