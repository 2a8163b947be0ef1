/**
 * Measures the time of one command without the time of the programs it waits for. A judge that waits for a student's program is neither
 * slow nor silent.
 *
 * O1  While other programs run, the command's own time stands still.
 * O2  The command's own time never runs backwards.
 */
export interface OwnClock {
  /** The command's own milliseconds since the start. */
  ownMs(): number;
  /** The command's own milliseconds since the last output, or since the start. */
  silentMs(): number;
  heard(): void;
}

/** `othersMs`: the milliseconds of other programs so far. Default: always 0. */
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
