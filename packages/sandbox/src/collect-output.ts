// Collects the output of one command in bounded memory. Invariants:
// 1. Memory is at most the cap plus one marker, regardless of the amount of output.
// 2. The first and the last bytes are kept. A note states how many bytes between them are left out.
// 3. Bytes after the end marker do not belong to the command: a background process wrote them later.

import { neutraliseOutput } from "./neutralise-output.ts";
import type { CommandOutcome } from "./port.ts";

export class OutputCollector {
  readonly #marker: Buffer;
  readonly #headCap: number;
  readonly #tailCap: number;
  readonly #onText: ((text: string) => void) | undefined;
  readonly #liveDecoder = new TextDecoder("utf-8");
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #held: Buffer = Buffer.alloc(0);
  #total = 0;
  #ended = false;

  constructor(options: { marker: string; capBytes: number; onText?: ((text: string) => void) | undefined }) {
    this.#marker = Buffer.from(options.marker);
    this.#headCap = Math.ceil(options.capBytes / 2);
    this.#tailCap = Math.floor(options.capBytes / 2);
    this.#onText = options.onText;
  }

  /** True once the marker has arrived: the command's output is complete. */
  get ended(): boolean {
    return this.#ended;
  }

  push(chunk: Buffer): void {
    if (this.#ended) return;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const at = bytes.indexOf(this.#marker);
    if (at >= 0) {
      this.#ended = true;
      this.#held = Buffer.alloc(0);
      this.#keep(bytes.subarray(0, at));
      return;
    }
    // A marker may start in the last bytes. They are held back until more bytes arrive.
    const safe = bytes.length - markerStart(bytes, this.#marker);
    this.#held = Buffer.from(bytes.subarray(safe));
    this.#keep(bytes.subarray(0, safe));
  }

  finish(): Pick<CommandOutcome, "output" | "truncated" | "outputBytes" | "gap"> {
    if (!this.#ended) {
      this.#ended = true;
      this.#keep(this.#held);
    }
    const head = Buffer.concat(this.#head);
    this.#compactTail();
    const tail = Buffer.concat(this.#tail);
    const missing = this.#total - head.length - tail.length;
    if (missing === 0) {
      const output = neutraliseOutput(Buffer.concat([head, tail]));
      return { output, truncated: false, outputBytes: this.#total };
    }
    const before = `${neutraliseOutput(trimEnd(head))}\n`;
    const said = `[${missing} bytes not shown]`;
    const output = `${before}${said}\n${neutraliseOutput(trimStart(tail))}`;
    const gap = { from: before.length, to: before.length + said.length };
    return { output, truncated: true, outputBytes: this.#total, gap };
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#total += bytes.length;
    const forHead = bytes.subarray(0, this.#headCap - this.#headBytes);
    if (forHead.length > 0) {
      this.#head.push(Buffer.from(forHead));
      this.#headBytes += forHead.length;
      this.#onText?.(neutraliseOutput(Buffer.from(this.#liveDecoder.decode(forHead, { stream: true }))));
    }
    const rest = bytes.subarray(forHead.length);
    if (rest.length === 0 || this.#tailCap === 0) return;
    const kept = Buffer.from(rest.subarray(Math.max(0, rest.length - this.#tailCap)));
    this.#tail.push(kept);
    this.#tailBytes += kept.length;
    if (this.#tailBytes > this.#tailCap * 2 || this.#tail.length > 256) this.#compactTail();
    else this.#dropWholeChunks();
  }

  #dropWholeChunks(): void {
    let first = this.#tail[0];
    while (first !== undefined && this.#tailBytes - first.length >= this.#tailCap) {
      this.#tail.shift();
      this.#tailBytes -= first.length;
      first = this.#tail[0];
    }
  }

  #compactTail(): void {
    const all = Buffer.concat(this.#tail);
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#tailCap)));
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }
}

/** How many of the last bytes match the start of the marker. */
function markerStart(bytes: Buffer, marker: Buffer): number {
  for (let length = Math.min(marker.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(marker.subarray(0, length))) return length;
  }
  return 0;
}

/** Removes the incomplete UTF-8 sequence that a cut may leave at the end. */
function trimEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Removes the continuation bytes that a cut may leave at the start. */
function trimStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
