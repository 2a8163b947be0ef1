/**
 * Chance inside a step. What is drawn follows from the run and the visit that draws, not from the event: an attempt that is made again,
 * and a replay, draw the same.
 */

/** From 0 to below `count`, each as likely as the others. `from`: who draws. */
export function drawIndex(from: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < from.length; at++) hash = Math.imul(hash ^ from.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return Math.floor((((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * count);
}
