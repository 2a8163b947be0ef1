/**
 * The time of one command without the time that belongs to others. A judge that waits for a student's program is neither slow nor silent.
 *
 * O1  While others run, the own time stands still.
 * O2  The own time never runs backwards.
 */
export interface OwnClock {
  /** Milliseconds of its own since the start. */
  ownMs(): number;
  /** Milliseconds of its own since the last output, or since the start. */
  silentMs(): number;
  heard(): void;
}

/** `othersMs`: the milliseconds that belonged to others so far. Absent: none ever do. */
export function startOwnClock(othersMs: () => number = () => 0, now: () => number = () => performance.now()): OwnClock {
  const own = () => now() - othersMs();
  const start = own();
  let last = 0;
  const ownMs = () => {
    last = Math.max(last, own() - start);
    return last;
  };
  let lastOutput = 0;
  return {
    ownMs,
    silentMs: () => ownMs() - lastOutput,
    heard() {
      lastOutput = ownMs();
    },
  };
}
