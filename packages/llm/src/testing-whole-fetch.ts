import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";
import { expect, vi } from "vitest";
import { createWholeFetch } from "./fetch-whole.ts";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";
import { guardedFetch } from "./guarded-fetch.ts";

export const MAX = 100_000;

export const closing: (() => unknown)[] = [];

/** Closes the servers of this test and restores its mocks. Each test file calls it after each test. */
export async function closeServers(): Promise<void> {
  vi.restoreAllMocks();
  for (const close of closing.splice(0).reverse()) await close();
}

export async function listening(server: Server, scheme = "http"): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat`;
}

export const serve = async (listener: RequestListener) => await listening(createServer(listener));

export const serveBytes = async (bytes: string | Buffer, headers: Record<string, string | number> = {}, status = 200) =>
  await serve((_, response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(bytes),
  );

/** Sends raw bytes, once per connection, as soon as a whole request has arrived. */
export async function serveRaw(answer: (socket: Socket, turn: number) => void): Promise<string> {
  const server = createNetServer((socket) => {
    let seen = "";
    let turn = 0;
    socket.on("data", (data) => {
      seen += data.toString("latin1");
      if (!seen.endsWith(BODY)) return;
      seen = "";
      turn += 1;
      answer(socket, turn);
    });
  });
  return await listening(server);
}

export const BODY = '{"messages":[]}';
export const post = (more: RequestInit = {}): RequestInit => ({
  method: "POST",
  headers: new Headers({ "content-type": "application/json", authorization: "Bearer secret", "user-agent": "test" }),
  body: BODY,
  ...more,
});

export type Fetch = typeof fetch;

/** undici considers a connection free one turn of the event loop after the end of its reply. */
export const idle = async () => await new Promise((resolve) => setTimeout(resolve, 20));

/** Everything by which the library and the failure translation could distinguish two replies. */
export async function outcome(ask: Fetch, url: string, init = post()): Promise<unknown> {
  try {
    const response = await ask(url, init);
    const { status, statusText, ok } = response;
    const said = { status, statusText, ok, type: response.headers.get("content-type") };
    return { ...said, text: await response.text().catch(told) };
  } catch (error) {
    return told(error);
  }
}

export function told(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const cause = error.cause === undefined ? {} : { cause: told(error.cause) };
  return { kind: error.constructor.name, name: error.name, message: error.message, code, ...cause };
}

/** The result of both functions, which must be the same. The test also checks that ours did not use fetch. */
export async function both(url: string, init: () => RequestInit = post, maxBytes = MAX): Promise<unknown> {
  const expected = await outcome(guardedFetch(maxBytes), url, init());
  const sent = vi.fn(fetchWithoutTimeouts);
  const found = await outcome(createWholeFetch(maxBytes, sent), url, init());
  expect(sent).not.toHaveBeenCalled();
  expect(found).toEqual(expected);
  return found;
}
