/** What a server of the Model Context Protocol answers costs work in proportion to its length, also where it is not what was asked for. */
import type { ServerResponse } from "node:http";
import type { Tool } from "@markmill/engine";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countStepsUntil } from "../../../tests/support/count-work.ts";
import { startToolServer } from "./testing-tool-server.ts";
import { createToolBox } from "./tool-box.ts";

let result: string;
let server: Awaited<ReturnType<typeof startToolServer>>;
beforeAll(async () => {
  server = await startToolServer({
    "/mcp": ({ method: asked, body }, response: ServerResponse) => {
      if (asked !== "POST") return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body);
      if (id === undefined) return response.writeHead(202).end();
      const info = { capabilities: {}, serverInfo: { name: "a", version: "1" } };
      const said =
        method === "initialize" ? JSON.stringify({ protocolVersion: params.protocolVersion, ...info }) : result;
      return response
        .writeHead(200, { "content-type": "application/json" })
        .end(`{"jsonrpc":"2.0","id":${id},"result":${said}}`);
    },
  });
});
afterAll(() => server?.close());

async function call() {
  const off = { serper: null, duckduckgo: null, jina: null, browserless: null, scraper: null, stock: null };
  const box = createToolBox({
    allow: [{ network: "127.0.0.1", bits: 32, port: Number(new URL(server.url).port) }],
    secrets: {},
    builtins: off,
    timeoutMs: 30_000,
    maxTimeoutMs: 300_000,
    maxBytes: 4 * 1024 * 1024,
  });
  const tool: Tool = { kind: "mcp", server: "s", tool: "a", description: "", schema: { type: "object" } };
  const servers = { s: { transport: "http" as const, url: `${server.url}/mcp` } };
  const { signal } = new AbortController();
  try {
    return await box.perform({ name: "s__a", tool, values: {}, servers, signal });
  } finally {
    box.close();
  }
}

it.each([
  ["empty objects", "{}"],
  ["numbers", "1"],
  ["texts without a text", '{"type":"text"}'],
])("%s in place of parts are told of, without findings about each", async (_, part) => {
  result = '{"content":[]}';
  // The first call loads modules.
  expect(await call()).toEqual({ ok: true, text: "" });
  const few = await countStepsUntil(call);
  const count = 9_000;
  result = `{"content":[${Array(count).fill(part).join(",")}]}`;
  const answer = await call();
  const many = await countStepsUntil(call);
  expect(answer).toEqual({ ok: true, text: Array(count).fill("[a part of an unknown kind: not shown]").join("\n") });

  expect((many - few) / count).toBeLessThan(150);
});

it("an answer of too many parts is refused", async () => {
  result = `{"content":[${Array(10_001).fill("1").join(",")}]}`;
  expect(await call()).toMatchObject({ ok: false, code: "TOOL_TOO_LARGE" });
});
