/** Milliseconds since 1970. Finer than the system clock, and it follows the clock when someone sets it. */
let offset = Date.now() - performance.now();

export function now(): number {
  const fine = offset + performance.now();
  const coarse = Date.now();
  if (Math.abs(fine - coarse) < 5) return fine;
  offset = coarse - performance.now();
  return coarse;
}
