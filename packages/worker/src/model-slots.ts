/**
 * How many requests a worker has at models at a time. A slot is held from before the reservation until the reply is there: a worker has a few
 * more activities in hand, so that the next one is ready, and the last one stored, while all slots are at their models.
 */
export interface ModelSlots {
  readonly count: number;
  /** Served in the order of asking. Resolves with what gives it back; rejects when the signal is aborted before. */
  take(signal?: AbortSignal): Promise<() => void>;
}

/** Activities in hand besides those at a model. With few slots none: one that waits here could begin elsewhere. */
export function inHand(slots: number): number {
  return slots + Math.floor(slots / 8);
}

export function createModelSlots(count: number): ModelSlots {
  let free = count;
  const waiting = new Set<() => void>();

  function giveBack(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  /** Twice is once. */
  const once = () => {
    let held = true;
    return () => {
      if (held) giveBack();
      held = false;
    };
  };

  return {
    count,
    take(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (free > 0) {
        free -= 1;
        return Promise.resolve(once());
      }
      return new Promise((resolve, reject) => {
        const turn = () => {
          signal?.removeEventListener("abort", leave);
          resolve(once());
        };
        const leave = () => {
          if (waiting.delete(turn)) reject(signal?.reason);
        };
        waiting.add(turn);
        signal?.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
