/**
 * Turns a function for many items into a function for one item. Calls that arrive together become one statement (gather.ts).
 *
 * Gains: a statement for eight prompts costs little more than one for four, so a worker with many prompts asks for all of them at once. The
 * figures are those of gather.ts. Not measured alone.
 * Without it: each item is asked for alone, by `perform([item])`. That is also what happens after a group fails, and what `alone` asks for.
 *
 * If the database refuses a group, nothing of it was done. Each item is then asked for alone, so that one bad item fails alone. If the
 * answer of a group is lost, nobody knows whether it was done. All its items fail then, and a database that is away is not asked again for
 * each item.
 */

import { isContention, translate } from "../database/store-error.ts";
import { createGather, type Gather, settleInTurns } from "./gather.ts";

/** In one statement: items, and characters unless one item alone has more. */
const most = 200;
const mostCharacters = 4 * 1024 * 1024;

/** Keys that were asked for last are kept, for what is known of their pace. */
const mostIdle = 50;
/** Statements that a prompt makes between its model calls: it takes no notice of so little, and two prompts save one of them. */
export const promptLingerMs = 20;

/** What `perform` says of an item that it has to be asked for alone. */
export const alone = Symbol("alone");

interface GatheredOptions<Item> {
  /** Only items of one key go together; absent: all have one. */
  readonly keyOf?: (item: Item) => string;
  /** How long an item is, where it may be long. */
  readonly sizeOf?: (item: Item) => number;
  /** See gather.ts. */
  readonly lingerMs?: number;
  /** Each item is asked for alone. */
  readonly plain: boolean;
}

/** `perform` answers each item at its place. */
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

  /** As many as are not too long together. */
  function pick(waiting: Waiting[], count: number): Waiting[] {
    let size = 0;
    const end = waiting.findIndex(({ item }, index) => {
      size += sizeOf(item);
      return index > 0 && (index >= count || size > mostCharacters);
    });
    return waiting.splice(0, end < 0 ? waiting.length : end);
  }

  /** Those of one key wait for each other, and for nobody else: whoever holds a lock of theirs holds up these alone. */
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
    // In the order of their last use.
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
