/**
 * Random choice inside a step. The choice depends on the run and on the visit that draws, not on the event. A retry and a replay therefore
 * choose the same.
 */

/** Returns a number from 0 to below `count`, with equal probability. `from` identifies the drawing visit. */
export function drawIndex(from: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < from.length; at++) hash = Math.imul(hash ^ from.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return Math.floor((((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * count);
}
