/** Milliseconds since 1970, finer than the clock's own, and with it when somebody sets the clock. */
let offset = Date.now() - performance.now();

export function now(): number {
  const fine = offset + performance.now();
  const coarse = Date.now();
  if (Math.abs(fine - coarse) < 5) return fine;
  offset = coarse - performance.now();
  return coarse;
}
