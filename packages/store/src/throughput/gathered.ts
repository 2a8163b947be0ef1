/**
 * Turns a function for many items into a function for one item. Calls that arrive together become one statement (gather.ts).
 *
 * Gains: a statement for eight prompts costs little more than one for four, so a worker with many prompts sends all of them at once. The
 * figures are those of gather.ts. Not measured alone. Without it: each item is sent alone, by `perform([item])`. The same happens after a
 * group fails, and for items that answer `alone`.
 *
 * If the database refuses a group, it wrote nothing of it. Each item is then sent alone, so that one bad item fails alone. If the answer of
 * a group is lost, the database may or may not have written it. All its items fail then, and an unreachable database is not asked again for
 * each item.
 */

import { isContention, translate } from "../database/store-error.ts";
import { createGather, type Gather, settleInTurns } from "./gather.ts";

/** The largest group of one statement, in items and in characters. A single longer item is sent alone. */
const most = 200;
const mostCharacters = 4 * 1024 * 1024;

/** Gatherers of the most recently used keys are kept, because they remember the pace of their requests. */
const mostIdle = 50;
/**
 * The linger time for statements that a prompt sends between its model calls. It is too short to matter to a prompt, and two prompts save
 * one statement.
 */
export const promptLingerMs = 20;

/** `perform` returns this for an item that must be sent alone. */
export const alone = Symbol("alone");

interface GatheredOptions<Item> {
  /** Only items of the same key go out together. Absent: all have the same key. */
  readonly keyOf?: (item: Item) => string;
  /** Returns the length of an item, if items may be long. */
  readonly sizeOf?: (item: Item) => number;
  /** See gather.ts. */
  readonly lingerMs?: number;
  /** Send each item alone. */
  readonly plain: boolean;
}

/** `perform` returns the result of each item at the item's index. */
export function gathered<Item, Result>(
  perform: (items: readonly Item[]) => Promise<readonly (Result | typeof alone)[]>,
  { keyOf = () => "", sizeOf = () => 0, lingerMs = 0, plain }: GatheredOptions<Item>,
): (item: Item) => Promise<Result> {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }

  async function performGroup(group: readonly Waiting[]): Promise<void> {
    const again: Waiting[] = [];
    try {
      const results = await perform(group.map(({ item }) => item));
      await settleInTurns(group.entries(), ([index, waiting]) => {
        const result = results[index];
        if (result !== alone) waiting.resolve(result as Result);
        else if (group.length > 1) again.push(waiting);
        else throw new Error("An item that is alone cannot be asked for alone.");
      });
    } catch (error) {
      const away = translate(error, "Asking together").transient && !isContention(error);
      if (group.length > 1 && !away) again.push(...group);
      else for (const { reject } of group) reject(error);
    }
    await Promise.all(again.map((waiting) => performGroup([waiting])));
  }

  /** As many items as fit into one statement by their length. */
  function pick(waiting: Waiting[], count: number): Waiting[] {
    let size = 0;
    const end = waiting.findIndex(({ item }, index) => {
      size += sizeOf(item);
      return index > 0 && (index >= count || size > mostCharacters);
    });
    return waiting.splice(0, end < 0 ? waiting.length : end);
  }

  /** Items of one key wait only for each other. If another transaction holds a lock of theirs, only this key is delayed. */
  const gathers = new Map<string, { readonly gather: Gather<Waiting>; asked: number }>();

  function forgetOldest(): void {
    for (const [key, { asked }] of gathers) {
      if (asked > 0) continue;
      gathers.delete(key);
      return;
    }
  }

  if (plain) return (item) => new Promise((resolve, reject) => void performGroup([{ item, resolve, reject }]));
  return async (item) => {
    const key = keyOf(item);
    const own = gathers.get(key) ?? {
      gather: createGather<Waiting>({ most, pick, lingerMs, perform: performGroup }),
      asked: 0,
    };
    // Keep the keys in the order of their last use.
    gathers.delete(key);
    gathers.set(key, own);
    own.asked += 1;
    try {
      return await new Promise<Result>((resolve, reject) => own.gather.add({ item, resolve, reject }));
    } finally {
      own.asked -= 1;
      if (gathers.size > mostIdle) forgetOldest();
    }
  };
}
