/** A test server of tools on the loopback. It can misbehave, and records its requests. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export interface ToolRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ToolServer {
  readonly url: string;
  /** The value for TOOL_ALLOW. */
  readonly address: string;
  requests(path?: string): readonly ToolRequest[];
  close(): Promise<void>;
}

/** `answers`: own answers by path. Other paths return the request as JSON. */
export async function startToolServer(
  answers: Readonly<Record<string, (request: ToolRequest, response: ServerResponse) => void>> = {},
): Promise<ToolServer> {
  const log: ToolRequest[] = [];
  const server = createServer((incoming, response) => {
    void bodyOf(incoming).then((body) => {
      const request = { method: incoming.method ?? "", url: incoming.url ?? "", headers: incoming.headers, body };
      log.push(request);
      const path = request.url.split("?")[0] ?? "";
      const answer = answers[path] ?? badWays[path];
      if (answer !== undefined) return answer(request, response);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ method: request.method, url: request.url, body }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    address: `127.0.0.1:${port}`,
    requests: (path) => log.filter(({ url }) => path === undefined || url.split("?")[0] === path),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const bomb = gzipSync(Buffer.alloc(5_000_000));

const badWays: Record<string, (request: ToolRequest, response: ServerResponse) => void> = {
  "/hang": () => undefined,
  "/drip": (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(timer));
  },
  "/flood": (_, response) => {
    response.writeHead(200);
    const more = (): void => {
      if (!response.destroyed && response.write("x".repeat(65_536))) setImmediate(more);
      else response.once("drain", more);
    };
    more();
  },
  "/bomb": (_, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" });
    response.end(bomb);
  },
  "/500": (_, response) => response.writeHead(500).end("the server is upset"),
  "/404": (_, response) => response.writeHead(404).end("no such thing"),
  "/late": (_, response) => setTimeout(() => response.end("too late"), 1_500),
  "/reset": (_, response) => response.destroy(),
  "/image": (_, response) => response.writeHead(200, { "content-type": "image/png" }).end("\u0089PNG"),
  "/headers": (request, response) => response.end(JSON.stringify(request.headers)),
  "/loop": (_, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/to": (request, response) => {
    const to = new URL(request.url, "http://x").searchParams.get("to") ?? "";
    response.writeHead(302, { location: to }).end();
  },
};

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
