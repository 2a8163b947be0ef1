/**
 * Puts requests that arrive together into one group.
 *
 * Gains: one statement instead of many. Committing with groups of half the size cost a seventh more per step. Before the prompts of a
 * worker shared their statements, a prompt took 9.3 ms of processor time and a class 1.69 times its ideal time. With that and other changes
 * it was 4.1 to 4.4 ms and 1.06 times. Lingering for 30 or 35 ms instead of 20 took less processor time, but left more slots empty
 * (tests/bench/README.md). Gathering was not measured alone. Without it: each request is a group of one (`most: 1`, `lingerMs: 0`). Every
 * caller must return the same results then.
 *
 * A request that finds no group in flight goes out with all requests of the same turn of the event loop. Requests that arrive meanwhile go
 * out together when that group has its answer, or beside it if `atOnce` allows it. No request waits for a timer, except in gatherers with
 * `lingerMs`: after a group of several requests more will come soon, so the next group waits a moment. A single request is sent at once.
 *
 * Waiting requests are divided evenly among the free places, so that one group is on its way while the next is put together. A group costs
 * as much as several of its items. Hence the constants `least` and `beside`.
 */
export interface GatherOptions<Item> {
  readonly most: number;
  /** Maximum number of groups in flight. Default: 1. */
  readonly atOnce?: number;
  /**
   * Takes a group from the front of the waiting requests, and leaves the rest. An empty group: all of them must wait for a group in flight.
   */
  readonly pick?: (waiting: Item[], most: number) => Item[];
  /** Minimum time between the starts of two groups, if the first one had several items. Default: 0. */
  readonly lingerMs?: number;
  /** If an item is urgent, the items that wait beside it do not linger. */
  readonly isUrgent?: (item: Item) => boolean;
  /** Settles every item. Never rejects. */
  readonly perform: (group: Item[]) => Promise<void>;
}

export interface Gather<Item> {
  add(item: Item): void;
  /** Adds items in front of the waiting ones. */
  addFirst(items: readonly Item[]): void;
  /** Resolves when no item waits and no group is in flight. */
  idle(): Promise<void>;
}

/** A group is not made smaller than this to leave items for another place. */
const least = 16;
/** Items settled in one turn of the event loop. */
const perTurn = 3;
/** While a group is in flight, another one is worth its cost only from this number of items on. */
const beside = 8;

export function createGather<Item>(options: GatherOptions<Item>): Gather<Item> {
  const { most, atOnce = 1, perform, pick = (waiting, count) => waiting.splice(0, count) } = options;
  const { lingerMs = 0, isUrgent = () => false } = options;
  const waiting: Item[] = [];
  const running = new Set<Promise<void>>();
  let due: Promise<void> | null = null;
  /** Ends the wait of `due` at once, if it is lingering. */
  let hurry: (() => void) | null = null;
  let last = { at: Number.NEGATIVE_INFINITY, size: 0 };
  /** The waiting items have already waited: a group left them over, or they are repeated. */
  let hasWaited = false;

  function start(afterMs = 0): void {
    due ??= new Promise((resolve) => {
      const begin = () => {
        due = null;
        hurry = null;
        launch();
        resolve();
      };
      if (afterMs === 0) {
        setImmediate(begin);
        return;
      }
      const timer = setTimeout(begin, afterMs);
      hurry = () => {
        clearTimeout(timer);
        hurry = null;
        setImmediate(begin);
      };
    });
  }

  function lingersFor(): number {
    if (lingerMs === 0 || hasWaited || last.size < 2 || waiting.length >= most || waiting.some(isUrgent)) return 0;
    return Math.max(0, Math.ceil(last.at + lingerMs - performance.now()));
  }

  function launch(): void {
    const free = atOnce - running.size;
    if (free === 0 || waiting.length < (running.size === 0 ? 1 : beside)) return;
    const afterMs = lingersFor();
    if (afterMs > 0) {
      start(afterMs);
      return;
    }
    const share = Math.max(least, Math.ceil(waiting.length / free));
    const group = pick(waiting, Math.min(most, share));
    if (group.length === 0) return;
    last = { at: performance.now(), size: group.length };
    hasWaited = waiting.length > 0;
    const performing = perform(group).then(() => {
      running.delete(performing);
      launch();
    });
    running.add(performing);
    // Start the next group in a turn of its own: the messages of this one go out first.
    if (waiting.length > 0) start();
  }

  return {
    add(item) {
      waiting.push(item);
      start();
      if (hurry !== null && (waiting.length >= most || isUrgent(item))) hurry();
    },
    addFirst(items) {
      waiting.unshift(...items);
      hasWaited = true;
      start();
      hurry?.();
    },
    async idle() {
      while (due !== null || running.size > 0) await (due ?? Promise.race(running));
    },
  };
}

/**
 * Settles a few items in each turn of the event loop. The callbacks of a large group take time. Other events, such as the reply of a model,
 * do not have to wait for all of them.
 */
export async function settleInTurns<Item>(items: Iterable<Item>, settle: (item: Item) => void): Promise<void> {
  let settled = 0;
  for (const item of items) {
    if (settled > 0 && settled % perTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    settled += 1;
    settle(item);
  }
}
