// The worker's end of the relay (relay-script.ts): connections of the judge's clients as plain objects. The relay is not trusted: a frame
// that is out of order or too long ends the whole relay with all its connections.

import type { Readable, Writable } from "node:stream";
import { FRAME_HEADER, WINDOW } from "./relay-script.ts";

const MAX_FRAME = 1024 * 1024;

export class RelayConnections {
  readonly #stdin: Writable;
  readonly #onConnection: (connection: Connection) => void;
  readonly #connections = new Map<number, Connection>();
  readonly #ready: Promise<void>;
  #buffer: Buffer = Buffer.alloc(0);
  #markReady: () => void = () => {};
  #markBroken: (error: Error) => void = () => {};

  constructor(stdin: Writable, stdout: Readable, onConnection: (connection: Connection) => void) {
    this.#stdin = stdin;
    this.#onConnection = onConnection;
    this.#ready = new Promise((resolve, reject) => {
      this.#markReady = resolve;
      this.#markBroken = reject;
    });
    this.#ready.catch(() => {});
    stdin.on("error", () => this.close());
    stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    stdout
      .on("end", () => this.close())
      .on("close", () => this.close())
      .on("error", () => this.close());
  }

  /** Resolves when the relay listens. */
  get ready(): Promise<void> {
    return this.#ready;
  }

  /** The relay also ends when its stdin ends. */
  close(): void {
    this.#markBroken(new Error("the relay ended"));
    for (const connection of this.#connections.values()) connection.lose();
    this.#connections.clear();
    this.#stdin.end();
  }

  #take(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    while (this.#buffer.length >= FRAME_HEADER) {
      const id = this.#buffer.readUInt32BE(0);
      const kind = String.fromCharCode(this.#buffer[4] ?? 0);
      const length = this.#buffer.readUInt32BE(5);
      if (length > MAX_FRAME) return this.close();
      if (this.#buffer.length < FRAME_HEADER + length) return;
      const payload = Buffer.from(this.#buffer.subarray(FRAME_HEADER, FRAME_HEADER + length));
      this.#buffer = this.#buffer.subarray(FRAME_HEADER + length);
      this.#act(id, kind, payload);
    }
  }

  #act(id: number, kind: string, payload: Buffer): void {
    if (kind === "R") return this.#markReady();
    if (kind === "O") {
      const connection = new Connection((to, bytes) => this.#send(id, to, bytes));
      this.#connections.set(id, connection);
      return this.#onConnection(connection);
    }
    const connection = this.#connections.get(id);
    if (connection === undefined) return;
    if (kind === "D") connection.receive(payload);
    else if (kind === "E") connection.receiveEnd();
    else if (kind === "A") connection.acknowledge(payload.readUInt32BE(0));
    else if (kind === "C") {
      this.#connections.delete(id);
      connection.lose();
    }
  }

  #send(id: number, kind: string, bytes: Uint8Array): void {
    const header = Buffer.alloc(FRAME_HEADER);
    header.writeUInt32BE(id, 0);
    header.write(kind, 4, "latin1");
    header.writeUInt32BE(bytes.length, 5);
    this.#stdin.write(Buffer.concat([header, bytes]));
    if (kind === "C") this.#connections.delete(id);
  }
}

/** Messages (guest-script.ts) over one connection. */
export class Connection {
  readonly #send: (kind: string, bytes: Uint8Array) => void;
  readonly #gone = new AbortController();
  #received: Buffer = Buffer.alloc(0);
  #ended = false;
  #unacknowledged = 0;
  #wakeReader: () => void = () => {};
  #wakeWriter: () => void = () => {};
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(send: (kind: string, bytes: Uint8Array) => void) {
    this.#send = send;
  }

  /** Aborted when the client, or the relay, is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    this.#wakeReader();
  }

  receiveEnd(): void {
    this.#ended = true;
    this.#wakeReader();
  }

  acknowledge(count: number): void {
    this.#unacknowledged -= count;
    this.#wakeWriter();
  }

  lose(): void {
    this.#gone.abort();
    this.#wakeReader();
    this.#wakeWriter();
  }

  close(): void {
    if (!this.gone.aborted) this.#send("C", Buffer.alloc(0));
    this.lose();
  }

  /** Returns the next message, or undefined when no more will come. Reading a message acknowledges it: the client may then send more. */
  async next(): Promise<{ readonly kind: string; readonly bytes: Buffer } | undefined> {
    for (;;) {
      if (this.#received.length >= 5) {
        const length = this.#received.readUInt32BE(1);
        if (length > MAX_FRAME) {
          this.close();
          return undefined;
        }
        if (this.#received.length >= 5 + length) {
          const kind = String.fromCharCode(this.#received[0] ?? 0);
          const bytes = Buffer.from(this.#received.subarray(5, 5 + length));
          this.#received = this.#received.subarray(5 + length);
          const count = Buffer.alloc(4);
          count.writeUInt32BE(5 + length);
          if (!this.gone.aborted) this.#send("A", count);
          return { kind, bytes };
        }
      }
      if (this.#ended || this.gone.aborted) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }

  /** Sends messages in the order of the calls. Resolves when the window has room again, or the client is gone. */
  say(kind: string, bytes: Uint8Array): Promise<void> {
    const mine = this.#lastWrite.then(() => this.#sayNow(kind, bytes));
    this.#lastWrite = mine;
    return mine;
  }

  async #sayNow(kind: string, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at === 0 || at < bytes.length; at += CHUNK) {
      const part = bytes.subarray(at, at + CHUNK);
      const message = Buffer.alloc(5 + part.length);
      message.write(kind, 0, "latin1");
      message.writeUInt32BE(part.length, 1);
      message.set(part, 5);
      while (!this.gone.aborted && this.#unacknowledged >= WINDOW) {
        await new Promise<void>((resolve) => {
          this.#wakeWriter = resolve;
        });
      }
      if (this.gone.aborted) return;
      this.#unacknowledged += message.length;
      this.#send("D", message);
    }
  }
}

const CHUNK = 64 * 1024;
