/**
 * Hashes a bag of words into a unit vector: equal texts are equal, texts that share words are near. It uses no model, so it knows nothing
 * of the meaning.
 */
export function hashEmbedding(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    const hash = fnv1a(word);
    const at = (hash >>> 1) % dimensions;
    vector[at] = (vector[at] ?? 0) + ((hash & 1) === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  if (length > 0) return vector.map((value) => value / length);
  // A text without words also needs a vector of length one: cosine similarity divides by the length.
  return vector.map((_, index) => (index === 0 ? 1 : 0));
}

function fnv1a(word: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
