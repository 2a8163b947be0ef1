/**
 * Posts the same body again and again over a few connections, one request at a time on each, with next to no work of its own: on a machine
 * that it shares with the server, what a generator of load takes, the server does not have.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Starter {
  /** Whether it was answered 201. A request that finds no free connection waits for one. */
  post(): Promise<boolean>;
  close(): void;
}

interface Line {
  readonly socket: Socket;
  heard: string;
  answer: ((ok: boolean) => void) | null;
}

export async function openStarter(url: string, token: string, body: string, connections: number): Promise<Starter> {
  const { hostname, port } = new URL(url);
  const head = [
    "POST /v1/runs HTTP/1.1",
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Idempotency-Key: ",
  ].join("\r\n");
  const free: Line[] = [];
  const waiting: ((line: Line) => void)[] = [];
  const lines = new Set<Line>();
  let closed = false;

  async function open(): Promise<void> {
    const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding("latin1");
    const line: Line = { socket, heard: "", answer: null };
    const settle = (ok: boolean) => {
      const { answer } = line;
      line.answer = null;
      line.heard = "";
      answer?.(ok);
    };
    socket.on("data", (text: string) => {
      // What nobody asked for says that the connection ends.
      if (line.answer === null) return;
      line.heard += text;
      const size = wholeSize(line.heard);
      if (size === null || line.heard.length < size) return;
      settle(line.heard.startsWith("HTTP/1.1 201 "));
      give(line);
    });
    socket.on("error", () => undefined);
    // The server lets go of a connection that was idle for long; what it was asked meanwhile has failed.
    socket.on("close", () => {
      settle(false);
      lines.delete(line);
      const place = free.indexOf(line);
      if (place >= 0) free.splice(place, 1);
      if (!closed) void open();
    });
    await once(socket, "connect");
    lines.add(line);
    give(line);
  }

  function give(line: Line): void {
    const next = waiting.shift();
    if (next === undefined) free.push(line);
    else next(line);
  }

  for (let index = 0; index < connections; index += 1) await open();
  return {
    async post() {
      // The one that was idle longest: none is idle for so long that the server lets go of it.
      const line = free.shift() ?? (await new Promise<Line>((resolve) => waiting.push(resolve)));
      return await new Promise((resolve) => {
        line.answer = resolve;
        line.socket.write(`${head}${crypto.randomUUID()}\r\n\r\n${body}`);
      });
    },
    close() {
      closed = true;
      for (const { socket } of lines) socket.destroy();
    },
  };
}

/** Bytes of an answer with its head; null: the head is not whole yet. */
function wholeSize(heard: string): number | null {
  const end = heard.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(heard);
  return end + 4 + Number(length?.[1] ?? 0);
}
