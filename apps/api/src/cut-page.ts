/**
 * Cuts pages from a list that is short enough to be read whole: users, keys, versions. The cursor is the id of the last item of the
 * previous page. If that item no longer exists, the cursor is refused, so that the client starts again and misses no item.
 */
import { Refusal } from "./refusal.ts";

export interface Cut<Item> {
  readonly items: Item[];
  readonly next: string | null;
}

export function cutPage<Item>(
  all: readonly Item[],
  idOf: (item: Item) => string,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Cut<Item> {
  const before = cursor === undefined ? -1 : all.findIndex((item) => idOf(item) === cursor);
  if (cursor !== undefined && before === -1) {
    throw new Refusal("INVALID", {
      errors: [{ path: "query.cursor", message: "does not match an item of the list" }],
      hint: "Start again without a cursor. The item may have been deleted.",
    });
  }
  const items = all.slice(before + 1, before + 1 + limit);
  const last = items.at(-1);
  return { items, next: last === undefined || before + 1 + limit >= all.length ? null : idOf(last) };
}
