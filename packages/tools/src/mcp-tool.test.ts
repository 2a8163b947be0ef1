import type { HttpServer, Tool } from "@markmill/engine";
import { afterEach, describe, expect, it } from "vitest";
import { saying, startMcpServer, type TestingMcpTool } from "./testing-mcp-server.ts";
import { startToolServer } from "./testing-tool-server.ts";
import { createToolBox, type ToolSettings } from "./tool-box.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(tools: Readonly<Record<string, TestingMcpTool>>, how: Parameters<typeof startMcpServer>[1] = {}) {
  const server = await startMcpServer(tools, how);
  open.push(server);
  return server;
}

const off = { serper: null, duckduckgo: null, jina: null, browserless: null, scraper: null, stock: null };
const at = (url: string, headers?: HttpServer["headers"]): HttpServer => ({
  transport: "http",
  url,
  ...(headers === undefined ? {} : { headers }),
});
const allowing = (url: string) => [{ network: "127.0.0.1", bits: 32, port: Number(new URL(url).port) }];

function boxFor(server: HttpServer, settings: Partial<ToolSettings> = {}) {
  const box = createToolBox({
    allow: allowing(server.url),
    secrets: {},
    builtins: off,
    timeoutMs: 2_000,
    maxTimeoutMs: 300_000,
    maxBytes: 65_536,
    ...settings,
  });
  open.push(box);
  const { signal } = new AbortController();
  return {
    list: (...tools: string[]) => box.list({ server, tools, signal }),
    call(tool: string, values: Record<string, unknown> = {}, timeoutMs?: number) {
      const described: Tool = {
        kind: "mcp",
        server: "s",
        tool,
        description: "",
        schema: { type: "object" },
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      };
      return box.perform({ name: `s__${tool}`, tool: described, values, servers: { s: server }, signal });
    },
  };
}

describe.each([{ json: false }, { json: true }])("an MCP server over HTTP, JSON answers: $json", (how) => {
  it("lists only the wanted tools, over several pages, in their order", async () => {
    const inputSchema = { type: "object" as const, properties: { q: { type: "string" } }, required: ["q"] };
    const call = () => saying("");
    const server = await serve(
      { a: { call }, b: { call, description: "Finds.", inputSchema }, c: { call }, d: { call, description: "D" } },
      { ...how, page: 2 },
    );
    const listed = await boxFor(at(server.url)).list("d", "b");
    expect(listed.ok && JSON.parse(listed.text)).toEqual([
      { tool: "d", description: "D", schema: { type: "object" } },
      { tool: "b", description: "Finds.", schema: inputSchema },
    ]);
  });

  it("whose answer is nested deeply is refused before the answer is parsed", async () => {
    const deep = JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`);
    const call = () => ({ content: [], structuredContent: { deep } });
    const server = await serve({ a: { call } }, how);
    expect(await boxFor(at(server.url)).call("a")).toMatchObject({
      ok: false,
      code: "TOOL_TOO_LARGE",
      message: "What the server sent is nested more than 500 deep.",
    });
  });

  it("must have each wanted tool", async () => {
    const server = await serve({ search: { call: () => saying("") }, fetch: { call: () => saying("") } }, how);
    expect(await boxFor(at(server.url)).list("serch")).toMatchObject({
      ok: false,
      code: "TOOL_NOT_CONFIGURED",
      message: "The server has no tool 'serch'; it has: search, fetch.",
      passing: false,
    });
  });

  it("returns texts, structured content once as JSON, and mentions parts that are not text", async () => {
    const link = { type: "resource_link" as const, uri: "file:///a", name: "A" };
    const image = { type: "image" as const, data: "aGk=", mimeType: "image/png" };
    const server = await serve(
      {
        text: { call: ({ who }) => saying(`Hello ${String(who)}`) },
        both: { call: () => ({ ...saying('{ "n": 1 }'), structuredContent: { n: 1 } }) },
        structure: { call: () => ({ content: [], structuredContent: { n: 2 } }) },
        mixed: {
          call: () => ({
            content: [
              { type: "text", text: "See:" },
              image,
              link,
              { type: "resource", resource: { uri: "file:///t", text: "inside" } },
              { type: "resource", resource: { uri: "file:///b", blob: "aGk=" } },
            ],
          }),
        },
      },
      how,
    );
    const { call } = boxFor(at(server.url));
    expect(await call("text", { who: "Ada" })).toEqual({ ok: true, text: "Hello Ada" });
    expect(await call("both")).toEqual({ ok: true, text: '{ "n": 1 }' });
    expect(await call("structure")).toEqual({ ok: true, text: '{"n":2}' });
    expect(await call("mixed")).toEqual({
      ok: true,
      text: "See:\n[image, image/png: not shown]\n[resource A: file:///a]\ninside\n[resource file:///b: no text, not shown]",
    });
    expect(server.calls()).toHaveLength(4);
    // The client that began a session also ends it.
    await expect.poll(() => server.sessions()).toBe(0);
  });

  it("may use any error codes, which are not HTTP statuses", async () => {
    const rejecting = (code: number) => ({ call: () => Promise.reject(Object.assign(new Error("quota"), { code })) });
    const server = await serve({ a: rejecting(429), b: rejecting(500), c: rejecting(1001) }, how);
    const { call } = boxFor(at(server.url));
    for (const name of ["a", "b", "c"]) {
      const result = await call(name);
      expect(result).toMatchObject({ ok: false, code: "TOOL_FAILED", passing: false });
      expect(result).not.toMatchObject({ message: expect.stringContaining("status") });
    }
  });

  it("may end a listing with an empty cursor", async () => {
    const server = await serve({ a: { call: () => saying("x") } }, { ...how, last: "" });
    const message = expect.stringMatching(/no tool 'gone'/);
    expect(await boxFor(at(server.url)).list("a", "gone")).toMatchObject({ ok: false, message });
    expect(server.listings()).toBe(1);
  });

  it("that reports a failed call, does not have the tool, or throws, makes the tool fail after one request", async () => {
    const server = await serve(
      {
        bad: { call: () => ({ ...saying("no such city"), isError: true }) },
        broken: { call: () => Promise.reject(new Error("out of order")) },
      },
      how,
    );
    const { call } = boxFor(at(server.url));
    expect(await call("bad")).toEqual({ ok: false, code: "TOOL_FAILED", message: "no such city", passing: false });
    expect(await call("gone")).toMatchObject({
      ok: false,
      code: "TOOL_FAILED",
      message: expect.stringMatching(/gone not found/),
    });
    expect(await call("broken")).toMatchObject({
      ok: false,
      code: "TOOL_FAILED",
      message: expect.stringMatching(/out of order/),
    });
    expect(server.calls().map(({ name }) => name)).toEqual(["bad", "broken"]);
  });

  it("that hangs is given up at the deadline, and one that answers too much is refused", async () => {
    const server = await serve(
      {
        hang: { call: () => new Promise(() => undefined) },
        long: { call: () => saying("x".repeat(100_000)) },
        flood: { call: () => saying("x".repeat(6_000_000)) },
      },
      how,
    );
    const { call } = boxFor(at(server.url));
    expect(await call("hang", {}, 300)).toMatchObject({ ok: false, code: "TOOL_TIMEOUT", passing: true });
    expect(await call("long")).toMatchObject({ ok: false, code: "TOOL_TOO_LARGE" });
    expect(await call("flood", {}, 20_000)).toMatchObject({
      ok: false,
      code: "TOOL_TOO_LARGE",
      message: "The server sent more than 4 MiB.",
    });
  });
});

it("an invalid MCP server gives a clear failure for every kind of fault", async () => {
  const bad = await startToolServer({
    "/silent": (_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(),
    "/accepted": (_, response) => response.writeHead(202).end(),
    "/torn": (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": begins\n\n", () => response.destroy());
    },
    "/nonsense": (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("{]"),
    "/moved": (_, response) => response.writeHead(307, { location: "/headers" }).end(),
    "/stream": (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        if (!response.destroyed && response.write(`data: ${"x".repeat(65_536)}\n\n`)) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    },
  });
  open.push(bad);
  const codes: Record<string, string> = {};
  const paths = ["hang", "drip", "flood", "bomb", "500", "404", "reset", "image", "silent", "accepted", "torn"];
  for (const path of [...paths, "nonsense", "moved", "stream"]) {
    const server = at(`${bad.url}/${path}`);
    const result = await boxFor(server, { timeoutMs: path === "stream" ? 10_000 : 1_500 }).list("a");
    codes[path] = result.ok ? "ok" : `${result.code}${result.passing ? " passing" : ""}`;
  }
  expect(codes).toEqual({
    hang: "TOOL_TIMEOUT passing",
    drip: "TOOL_FAILED",
    flood: "TOOL_FAILED",
    bomb: "TOOL_FAILED",
    "500": "TOOL_FAILED passing",
    "404": "TOOL_FAILED",
    reset: "TOOL_FAILED passing",
    image: "TOOL_FAILED",
    silent: "TOOL_FAILED passing",
    accepted: "TOOL_FAILED passing",
    torn: "TOOL_FAILED passing",
    nonsense: "TOOL_FAILED",
    moved: "TOOL_FAILED",
    stream: "TOOL_TOO_LARGE",
  });
  expect(bad.requests("/headers")).toEqual([]);
  expect(bad.requests("/500")).toHaveLength(1);
});

it("an MCP server that is unreachable or at a refused address is a failure", async () => {
  const server = await serve({ a: { call: () => saying("a") } });
  const refused = { ok: false, code: "TOOL_ADDRESS_REFUSED", passing: false };
  expect(await boxFor(at(server.url), { allow: [] }).list("a")).toMatchObject(refused);
  expect(await boxFor(at(server.url), { allow: [] }).call("a")).toMatchObject(refused);
  const named = at(server.url.replace("127.0.0.1", "localhost"));
  expect(await boxFor(named, { allow: [] }).call("a")).toMatchObject(refused);
  expect(server.listings() + server.calls().length).toBe(0);
  await server.close();
  open.splice(open.indexOf(server), 1);
  const away = { ok: false, code: "TOOL_FAILED", passing: true };
  expect(await boxFor(at(server.url)).call("a")).toMatchObject(away);
});

it("a secret for an MCP server is sent only to its own host, and appears in no result", async () => {
  const server = await serve({ echo: { call: (_, { headers }) => saying(JSON.stringify(headers)) } });
  const headers = { authorization: { secret: "KEY", before: "Bearer " } };
  const host = new URL(server.url).host;
  const secrets = { KEY: { value: "s3cret-value", hosts: [`http://${host}`] } };
  const given = await boxFor(at(server.url, headers), { secrets }).call("echo");
  expect(given.ok && JSON.parse(given.text)).toMatchObject({ authorization: "Bearer ***" });
  const near = "x".repeat(4_090);
  server.tools.set("told", { description: `${near}s3cret-value`, call: () => saying("") });
  server.tools.set("bad", { call: () => ({ ...saying(`${"y".repeat(995)}s3cret-value`), isError: true }) });
  const asking = boxFor(at(server.url, headers), { secrets });
  expect(JSON.stringify([await asking.list("told"), await asking.call("bad")])).not.toContain("s3c");
  const elsewhere = { KEY: { value: "s3cret-value", hosts: ["example.org"] } };
  expect(await boxFor(at(server.url, headers), { secrets: elsewhere }).call("echo")).toMatchObject({
    ok: false,
    code: "TOOL_NOT_CONFIGURED",
  });
});

it("requests back from an MCP server are refused, and endless requests end", async () => {
  const server = await serve({
    sample: {
      call: async (_, { ask }) =>
        saying(await ask("sampling/createMessage").then(String, (error: Error) => `refused: ${error.message}`)),
    },
    pester: {
      async call(_, { ask }) {
        for (;;) await ask("ping");
      },
    },
  });
  const { call } = boxFor(at(server.url));
  expect(await call("sample")).toMatchObject({ ok: true, text: expect.stringMatching(/^refused/) });
  expect(await call("pester", {}, 20_000)).toMatchObject({
    ok: false,
    code: "TOOL_FAILED",
    message: "The server needs more than 64 requests.",
  });
});

it("an MCP schema that is far too long is refused, and no schema is compiled", async () => {
  const properties = Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`p${n}`, { type: "string" }]));
  const evil = { type: "object" as const, properties: { x: { $ref: "#/nowhere" }, y: { pattern: "(a+)+$" } } };
  const server = await serve({
    long: { inputSchema: { type: "object", properties }, call: () => saying("") },
    evil: { inputSchema: evil, outputSchema: evil, call: () => saying("done") },
  });
  const { list, call } = boxFor(at(server.url));
  expect(await list("long")).toMatchObject({ ok: false, code: "TOOL_TOO_LARGE" });
  const listed = await list("evil");
  expect(listed.ok && JSON.parse(listed.text)).toEqual([{ tool: "evil", description: "", schema: evil }]);
  expect(await call("evil")).toMatchObject({ ok: true });
});
