/**
 * The same bytes in pieces of `length`; the last one may be shorter. There is always at least one piece, which may be
 * empty.
 */
export async function* inParts(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  length: number,
): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let size = 0;
  let empty = true;
  for await (let piece of content) {
    while (size + piece.length >= length) {
      const taken = length - size;
      yield Buffer.concat([...held, piece.subarray(0, taken)]);
      empty = false;
      held = [];
      size = 0;
      piece = piece.subarray(taken);
    }
    if (piece.length > 0) held.push(piece);
    size += piece.length;
  }
  if (size > 0 || empty) yield Buffer.concat(held);
}
