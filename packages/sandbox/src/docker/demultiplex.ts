// Splits the engine's attach stream into stdout and stderr. A frame is one byte with the stream number, three zero bytes, four bytes with
// the length (big-endian), then the payload. Only an incomplete header is buffered, so a frame of any length needs no memory.

const HEADER_BYTES = 8;

export type StreamName = "stdout" | "stderr";

export class Demultiplexer {
  readonly #onChunk: (stream: StreamName, chunk: Buffer) => void;
  #header: Buffer = Buffer.alloc(0);
  #stream: StreamName = "stdout";
  #left = 0;

  constructor(onChunk: (stream: StreamName, chunk: Buffer) => void) {
    this.#onChunk = onChunk;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const missing = HEADER_BYTES - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (this.#header.length < HEADER_BYTES) return;
        this.#stream = this.#header[0] === 2 ? "stderr" : "stdout";
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const payload = rest.subarray(0, this.#left);
      this.#left -= payload.length;
      rest = rest.subarray(payload.length);
      this.#onChunk(this.#stream, payload);
    }
  }
}
