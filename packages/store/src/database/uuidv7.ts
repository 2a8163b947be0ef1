import { randomFillSync } from "node:crypto";

/** Creates random bytes for many ids at once: a separate call took a fiftieth of the time of a start. */
const drawn = Buffer.alloc(16 * 256);
let used = drawn.length;

/** Sorts by time of creation. */
export function uuidv7(ms: number): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const bytes = drawn.subarray(used, used + 16);
  used += 16;
  bytes.writeUIntBE(ms, 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
