import type { FileHandle } from "node:fs/promises";

/** Reads exactly the size that a file had when it was opened. null: it grew or shrank meanwhile. */
export async function readWhole(handle: FileHandle, size: number): Promise<Buffer | null> {
  const bytes = Buffer.alloc(size + 1);
  let length = 0;
  while (length <= size) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length === size ? bytes.subarray(0, size) : null;
}
