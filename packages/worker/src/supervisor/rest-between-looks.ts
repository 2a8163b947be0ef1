/** Minimum time between the starts of cycles that follow notifications. */
const heardApartMs = 50;
export const longestRestMs = 3_000;

/**
 * Returns how long a loop rests after a cycle before it acts on the next notification. It rests at least as long as the cycle took, so that
 * half of the time is left to other work. `called`: a notification started the cycle. Several notifications in a row are then answered by
 * one cycle.
 */
export function restBetweenLooks(tookMs: number, called: boolean): number {
  const restMs = called ? Math.max(tookMs, heardApartMs - tookMs) : tookMs;
  return Math.min(restMs, longestRestMs);
}
