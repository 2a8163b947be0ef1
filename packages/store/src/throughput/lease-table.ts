/**
 * Lists the activities that a worker holds, in memory that it shares with the lease thread. Only the main thread writes.
 *
 * Gains: a message to a thread costs 0.1 ms, and each activity would send two. The table was not compared with messages by measurement.
 * Without it: the keeper (leases/lease-keeper.ts) sends a message when an activity begins or ends, and one for each tick.
 *
 * The thread reads a place in two halves. If another activity got the place in between, the thread renews a pair of id and claim that does
 * not exist. That changes nothing, and the other activity is renewed in the next round.
 */
export interface LeaseTable {
  readonly memory: SharedArrayBuffer;
  /** false: the table is full. */
  put(id: number, claim: number): boolean;
  take(id: number): void;
  /** Records that the main loop has turned. */
  tick(): void;
}

/** More than any worker performs at a time. */
const places = 4_096;
/** The number of fields before the places: the tick count. */
const head = 1;

export function createLeaseTable(): LeaseTable {
  const memory = new SharedArrayBuffer(8 * (head + 2 * places));
  const cells = new BigInt64Array(memory);
  const placeOf = new Map<number, number>();
  const free = Array.from({ length: places }, (_, place) => head + 2 * (places - 1 - place));
  const tick = () => void Atomics.add(cells, 0, 1n);
  const take = (id: number) => {
    const place = placeOf.get(id);
    if (place === undefined) return;
    Atomics.store(cells, place, 0n);
    placeOf.delete(id);
    free.push(place);
  };
  tick();
  return {
    memory,
    tick,
    take,
    put(id, claim) {
      tick();
      take(id);
      const place = free.pop();
      if (place === undefined) return false;
      Atomics.store(cells, place + 1, BigInt(claim));
      Atomics.store(cells, place, BigInt(id));
      placeOf.set(id, place);
      return true;
    },
  };
}

export interface Held {
  readonly id: number;
  readonly claim: number;
}

/** The view of the lease thread. `tick` changes whenever the main loop has turned. */
export function readLeaseTable(memory: SharedArrayBuffer): {
  readonly held: readonly Held[];
  readonly tick: bigint;
} {
  const cells = new BigInt64Array(memory);
  const held: Held[] = [];
  for (let place = head; place < cells.length; place += 2) {
    const id = Atomics.load(cells, place);
    if (id !== 0n) held.push({ id: Number(id), claim: Number(Atomics.load(cells, place + 1)) });
  }
  return { held, tick: Atomics.load(cells, 0) };
}
