/**
 * Gathers requests that arrive together into one. A request that finds nothing in flight goes out with whatever else arrived in the
 * same turn of the event loop; what arrives meanwhile goes out together when the answer is there. Nothing waits by a timer: with 32
 * runs in flight on Redis a further wait of 1 or 2 ms left the groups at 11 to 13 and the cost per step as it was.
 */
export interface GatherOptions<Item> {
  readonly most: number;
  /** Takes a group from the front of what waits, and leaves the rest. */
  readonly pick?: (waiting: Item[], most: number) => Item[];
  /** Settles every item itself; never rejects. */
  readonly perform: (group: Item[]) => Promise<void>;
}

export interface Gather<Item> {
  add(item: Item): void;
  /** Ahead of the others. */
  addFirst(items: readonly Item[]): void;
  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void>;
}

export function createGather<Item>(options: GatherOptions<Item>): Gather<Item> {
  const { most, perform, pick = (waiting, count) => waiting.splice(0, count) } = options;
  const waiting: Item[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    while (waiting.length > 0) await perform(pick(waiting, most));
    running = null;
  }

  const start = () => {
    running ??= run();
  };
  return {
    add(item) {
      waiting.push(item);
      start();
    },
    addFirst(items) {
      waiting.unshift(...items);
      start();
    },
    async idle() {
      while (running !== null) await running;
    },
  };
}
