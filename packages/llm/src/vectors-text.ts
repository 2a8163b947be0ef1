/**
 * Stores vectors as the text of a reply, so that embeddings are remembered, reserved and booked like any call. The text is a JSON list with
 * one base64 text per vector: 32-bit floats, little-endian, of length one.
 */
export function writeVectors(vectors: readonly (readonly number[])[]): string {
  return JSON.stringify(vectors.map((vector) => Buffer.from(unitBytes(vector)).toString("base64")));
}

export function readVectors(text: string): readonly Uint8Array[] {
  const list: unknown = JSON.parse(text);
  return Array.isArray(list) ? list.map((one) => new Uint8Array(Buffer.from(String(one), "base64"))) : [];
}

/** Scales the vector to length one: cosine similarity is then the sum of products. A zero vector stays zero and is similar to no other. */
export function unitBytes(vector: readonly number[]): Uint8Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, length > 0 ? value / length : 0, true);
  return bytes;
}
