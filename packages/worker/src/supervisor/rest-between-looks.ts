/** Between looks at what was heard. */
const heardApartMs = 50;
export const longestRestMs = 3_000;

/**
 * How long a loop rests after a look that took so long, before it acts on what it hears: at least as long as the look took, so that half
 * of the time is left to others. `called`: the look followed a call. Calls that come one after the other are then answered together.
 */
export function restBetweenLooks(tookMs: number, called: boolean): number {
  const restMs = called ? Math.max(tookMs, heardApartMs - tookMs) : tookMs;
  return Math.min(restMs, longestRestMs);
}
