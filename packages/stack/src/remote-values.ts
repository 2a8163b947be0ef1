/** Shared helpers for the parts of a store behind a server. */
import { ApiProblem } from "@markmill/contract";
import type { Limits } from "@markmill/engine";

export async function unless404<Result>(ask: () => Promise<Result>): Promise<Result | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiProblem && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

export function toCaps(caps: Partial<Limits> = {}) {
  const { nanodollars, tokens, timeMs, steps, depth, hits } = caps;
  return {
    ...(nanodollars === undefined || nanodollars === null ? {} : { dollars: nanodollars / 1e9 }),
    ...(tokens === undefined || tokens === null ? {} : { tokens }),
    ...(timeMs === undefined || timeMs === null ? {} : { timeMs }),
    ...(steps === undefined ? {} : { steps }),
    ...(depth === undefined ? {} : { depth }),
    ...(hits === undefined ? {} : { hits }),
  };
}

/** Reads all items of a paged list. */
export async function everyPage<Item>(
  read: (query: {
    readonly limit: number;
    readonly cursor?: string;
  }) => Promise<{ items: Item[]; next: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const found = await read({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...found.items);
    cursor = found.next;
  }
  return items;
}
