/** A reply that is paid for is held until it is recorded (I3): what may pass is waited for as long as its call may last. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Patience {
  readonly signal?: AbortSignal | undefined;
  /** Told once. */
  readonly tell?: ((error: unknown) => void) | undefined;
  /** The last one again and again. */
  readonly pausesMs?: readonly number[];
}

/** 30 s in all, after which only what may pass is tried again. */
const shippedMs = [100, 400, 1_500, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000];

export async function recordPatiently(record: () => Promise<void>, patience: Patience): Promise<void> {
  const { signal, tell, pausesMs = shippedMs } = patience;
  for (let tries = 0; ; tries++) {
    try {
      return await record();
    } catch (error) {
      if (tries === 0) tell?.(error);
      const passes = error instanceof Error && "transient" in error && error.transient === true;
      if (signal?.aborted || (tries >= pausesMs.length && !passes)) throw error;
    }
    const pause = sleep(pausesMs[tries] ?? pausesMs.at(-1), undefined, signal === undefined ? {} : { signal });
    // An abort ends the wait, not the reply: there is one more try.
    await pause.catch(() => undefined);
  }
}
