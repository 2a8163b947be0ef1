// A model behind a gate that knows what it answered. Closed, it takes requests and answers none, as an endpoint that thinks for long.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface GatedModel {
  /** As OPENAI_BASE_URL. */
  readonly url: string;
  /** Idempotency keys of all requests, in order of arrival; "none" where there was none. */
  readonly asked: readonly string[];
  /** Of those whose whole reply was sent. */
  readonly answered: ReadonlySet<string>;
  /** Answers so many more requests, and is closed then. */
  shutAfter(answers: number): void;
  /** Once it is closed and the last reply it let through has been sent. */
  readonly shut: boolean;
  open(): void;
  /** Requests are taken and wait, until the answer is called; then they are answered. */
  hold(): () => void;
  close(): Promise<void>;
}

/** `url`: of the model behind it, as OPENAI_BASE_URL. */
export async function startGatedModel(url: string): Promise<GatedModel> {
  const asked: string[] = [];
  const answered = new Set<string>();
  /** How many more are answered. */
  let left = Number.POSITIVE_INFINITY;
  let passing = 0;
  let held: Promise<void> | null = null;
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The list of models is asked for before a class begins, and is no question to a model.
    if (request.method === "GET") return await list(request, response);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const key = request.headers["idempotency-key"]?.toString() ?? "none";
    asked.push(key);
    if (left <= 0) return;
    left -= 1;
    passing += 1;
    await held;
    const { authorization = "", "content-type": type = "application/json" } = request.headers;
    const reply = await fetch(new URL(request.url ?? "/", url), {
      method: request.method ?? "POST",
      body: Buffer.concat(pieces),
      headers: { authorization, "content-type": type, "idempotency-key": key },
    });
    const body = Buffer.from(await reply.arrayBuffer());
    response.once("finish", () => answered.add(key));
    response.once("close", () => {
      passing -= 1;
    });
    response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") ?? "application/json" });
    response.end(body);
  }
  async function list(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = "" } = request.headers;
    const reply = await fetch(new URL(request.url ?? "/", url), { headers: { authorization } });
    response.writeHead(reply.status, { "content-type": "application/json" });
    response.end(Buffer.from(await reply.arrayBuffer()));
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    answered,
    shutAfter: (answers) => {
      left = answers;
    },
    get shut() {
      return left <= 0 && passing === 0;
    },
    open: () => {
      left = Number.POSITIVE_INFINITY;
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = null;
        resolve();
      };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
