/** HTTP helpers of the scripted server (scripted-server.ts): reads bodies, sends whole answers and pieces. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/** Returns the parsed body; undefined when it was refused and answered. */
export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) {
      response.setHeader("connection", "close");
      sendError(response, 413, "request_too_large", `A request may have ${MAX_REQUEST_BYTES} bytes.`);
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) ?? {};
  } catch {
    sendError(response, 400, "invalid_json", "The request body is not JSON.");
    return undefined;
  }
}

export function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  sendJson(response, status, { error: { message, type, param: null, code } });
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", JSON.stringify(body));
}

export function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

export async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new Error("the client hung up");
  if (response.write(text)) return;
  const closed = new AbortController();
  try {
    await Promise.race([
      once(response, "drain", { signal: closed.signal }),
      once(response, "close", { signal: closed.signal }),
    ]);
  } finally {
    closed.abort();
  }
}

export async function waitUnlessClosed(response: ServerResponse, ms: number): Promise<void> {
  const closed = new AbortController();
  const stop = () => closed.abort();
  response.once("close", stop);
  await sleep(ms, undefined, { signal: closed.signal }).catch(() => undefined);
  response.off("close", stop);
}
