import { lookup } from "node:dns/promises";
import { type BuiltinName, builtinNames, builtinTools, type HttpTool, type Tool } from "@markmill/engine";
import { afterEach, describe, expect, it } from "vitest";
import { startToolServer, type ToolServer } from "./testing-tool-server.ts";
import { createToolBox, type ToolFunction, type ToolSettings } from "./tool-box.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function serve(): Promise<ToolServer> {
  const server = await startToolServer();
  open.push(server);
  return server;
}

const portOf = (server: ToolServer) => Number(new URL(server.url).port);
const allowing = (...servers: ToolServer[]) =>
  servers.map((server) => ({ network: "127.0.0.1", bits: 32, port: portOf(server) }));

const off = { serper: null, duckduckgo: null, jina: null, browserless: null, scraper: null, stock: null };

function boxOf(settings: Partial<ToolSettings> = {}, functions: Record<string, ToolFunction> = {}) {
  const box = createToolBox(
    { allow: [], secrets: {}, builtins: off, timeoutMs: 2_000, maxTimeoutMs: 5_000, maxBytes: 65_536, ...settings },
    functions,
  );
  open.push(box);
  const { signal } = new AbortController();
  return (tool: Tool, values: Record<string, unknown> = {}) => box.perform({ name: "t", tool, values, signal });
}

const http = (url: string, more: Partial<HttpTool> = {}): HttpTool => ({
  kind: "http",
  method: "GET",
  url,
  description: "",
  schema: { type: "object" },
  ...more,
});

describe("an HTTP tool", () => {
  it("sends arguments that its URL does not use as the query, or as JSON", async () => {
    const server = await serve();
    const ask = boxOf({ allow: allowing(server) });
    const asked = { id: "a b", tags: ["x", "y"], deep: { n: 1 }, none: null };
    await ask(http(`${server.url}/v/{id}`), asked);
    await ask(http(`${server.url}/v/{id}`, { method: "POST" }), asked);
    await ask(http(`${server.url}/v/{id}`, { method: "DELETE" }), { id: 1 });
    expect(server.requests().map(({ method, url, body }) => [method, url, body])).toEqual([
      ["GET", "/v/a%20b?tags=x&tags=y&deep=%7B%22n%22%3A1%7D", ""],
      ["POST", "/v/a%20b", '{"tags":["x","y"],"deep":{"n":1},"none":null}'],
      ["DELETE", "/v/1", ""],
    ]);
  });

  it("keeps the author's own query unchanged", async () => {
    const server = await serve();
    const ask = boxOf({ allow: allowing(server) });
    await ask(http(`${server.url}/v?q=a%20b&fields=x,y&flag&t=12:30`), { more: "c d" });
    await ask(http(`${server.url}/v?flag`), {});
    await ask(http(`${server.url}/v?`), { a: 1 });
    expect(server.requests().map(({ url }) => url)).toEqual([
      "/v?q=a%20b&fields=x,y&flag&t=12:30&more=c%20d",
      "/v?flag",
      "/v?a=1",
    ]);
  });

  it("fails clearly after one request if the server hangs, drips, floods, sends a compression bomb, resets or answers with an error", async () => {
    const server = await serve();
    const ask = boxOf({ allow: allowing(server), timeoutMs: 300 });
    const patient = boxOf({ allow: allowing(server), timeoutMs: 60_000 });
    const codes: Record<string, string> = {};
    const slow = ["/hang", "/drip", "/late"];
    for (const path of [...slow, "/flood", "/bomb", "/500", "/404", "/reset", "/image", "/loop"]) {
      const result = await (slow.includes(path) ? ask : patient)(http(server.url + path));
      codes[path] = result.ok ? "ok" : `${result.code}${result.passing ? " passing" : ""}`;
    }
    expect(codes).toEqual({
      "/hang": "TOOL_TIMEOUT passing",
      "/drip": "TOOL_TIMEOUT passing",
      "/late": "TOOL_TIMEOUT passing",
      "/flood": "TOOL_TOO_LARGE",
      "/bomb": "TOOL_TOO_LARGE",
      "/500": "TOOL_FAILED passing",
      "/404": "TOOL_FAILED",
      "/reset": "TOOL_FAILED passing",
      "/image": "TOOL_FAILED",
      "/loop": "TOOL_FAILED",
    });
    expect(server.requests("/500")).toHaveLength(1);
  });

  it("reaches neither the loopback, nor a name that resolves to it, nor an odd notation of it, unless allowed", async () => {
    const server = await serve();
    const ask = boxOf();
    const port = portOf(server);
    const hosts = ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "[::1]", "0", "127.1"];
    for (const host of hosts) {
      expect(await ask(http(`http://${host}:${port}/x`)), host).toMatchObject({
        ok: false,
        code: "TOOL_ADDRESS_REFUSED",
      });
    }
    for (const url of ["file:///etc/passwd", "http://me:pw@1.1.1.1/", "gopher://1.1.1.1/"]) {
      expect(await ask(http(url)), url).toMatchObject({ ok: false, code: "TOOL_ADDRESS_REFUSED" });
    }
    expect(server.requests()).toEqual([]);
    const { address } = await lookup("localhost");
    const allowed = boxOf({
      allow: [
        { network: "127.0.0.0", bits: 8, port },
        { network: "::1", bits: 128, port },
      ],
    });
    if (address === "127.0.0.1") expect(await allowed(http(`http://localhost:${port}/x`))).toMatchObject({ ok: true });
  });

  it("follows redirects, checks each one, and sends its headers to no other origin", async () => {
    const [first, second] = [await serve(), await serve()];
    const both = boxOf({ allow: allowing(first, second) });
    const tool = http(`${first.url}/to`, { headers: { "x-key": "mine" } });
    const away = { to: `${second.url}/headers` };
    expect(await both(tool, away)).toMatchObject({ ok: true });
    expect(second.requests()[0]?.headers["x-key"]).toBeUndefined();
    expect(await both(tool, { to: "/headers" })).toMatchObject({ ok: true, text: expect.stringContaining("mine") });
    const one = boxOf({ allow: allowing(first) });
    expect(await one(tool, away)).toMatchObject({ ok: false, code: "TOOL_ADDRESS_REFUSED" });
    expect(await one(tool, { to: "http://169.254.169.254/latest" })).toMatchObject({ code: "TOOL_ADDRESS_REFUSED" });
    expect(await one(tool, { to: "file:///etc/passwd" })).toMatchObject({ code: "TOOL_ADDRESS_REFUSED" });
    expect(second.requests()).toHaveLength(1);
    // A request that may change data is not redirected.
    const posted = await both(http(`${first.url}/to?to=/x`, { method: "POST" }), {});
    expect(posted).toMatchObject({ ok: false, code: "TOOL_FAILED", message: expect.stringContaining("redirect") });
    expect(first.requests("/x")).toEqual([]);
  });

  it("shows no part of a secret in a failure, not at a cut and not in another encoding", async () => {
    const value = "hunter two/is+long";
    const at = (length: number) =>
      `${"x".repeat(length)}${value} ${encodeURIComponent(value)} ${JSON.stringify(`"${value}`)}`;
    const server = await startToolServer({
      "/fails": ({ url }, response) =>
        response.writeHead(500).end(at(Number(new URL(url, "http://x").searchParams.get("n")))),
    });
    open.push(server);
    const ask = boxOf({ allow: allowing(server), secrets: { TOKEN: { value, hosts: [] } } });
    for (const n of [0, 485, 490, 495, 499]) {
      const { ok, message } = (await ask(http(`${server.url}/fails`), { n })) as { ok: boolean; message: string };
      expect(ok).toBe(false);
      expect(message).not.toMatch(/hun|two|long/);
    }
    const thrower = () => {
      throw new Error(at(990));
    };
    const local = boxOf({ secrets: { TOKEN: { value, hosts: [] } } }, { thrower });
    const thrown = await local({ kind: "function", function: "thrower", description: "", schema: { type: "object" } });
    expect(JSON.stringify(thrown)).not.toMatch(/hun|two|long/);
  });

  it("gets a secret only for hosts that the operator allows, and its answer does not show it", async () => {
    const server = await serve();
    const { host } = new URL(server.url);
    const secrets = {
      PLAIN: { value: "s3cret", hosts: [host] },
      MINE: { value: "s3cret-value", hosts: [`http://${host}`] },
      OTHER: { value: "another-value", hosts: ["api.example.org"] },
    };
    const ask = boxOf({ allow: allowing(server), secrets });
    const tool = (secret: string) =>
      http(`${server.url}/headers`, { headers: { Authorization: { secret, before: "Bearer " } } });
    const result = await ask(tool("MINE"));
    expect(server.requests()[0]?.headers.authorization).toBe("Bearer s3cret-value");
    expect(result).toMatchObject({ ok: true, text: expect.stringContaining('Bearer ***"') });
    // The host is right, but no setting allows it without TLS.
    for (const name of ["PLAIN", "OTHER", "NONE", "__proto__", "toString"]) {
      expect(await ask(tool(name)), name).toMatchObject({ ok: false, code: "TOOL_NOT_CONFIGURED" });
    }
    expect(server.requests()).toHaveLength(1);
  });
});

it("the time limit of a tool is at most the operator's limit", async () => {
  const server = await serve();
  const ask = boxOf({ allow: allowing(server), maxTimeoutMs: 300 });
  for (const timeoutMs of [60_000, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
    expect(await ask(http(`${server.url}/hang`, { timeoutMs }))).toMatchObject({
      code: "TOOL_TIMEOUT",
      message: expect.stringContaining("300 ms"),
    });
  }
});

describe("a tool that is a function", () => {
  const tool = (name: string): Tool => ({ kind: "function", function: name, description: "", schema: {} });

  it("is called with its arguments, and fails if it throws or does not end", async () => {
    const ask = boxOf(
      { timeoutMs: 100, maxBytes: 1_000 },
      {
        add: ({ a, b }) => String(Number(a) + Number(b)),
        upset: () => {
          throw new Error("I am upset");
        },
        never: () => new Promise(() => undefined),
        much: () => "x".repeat(2_000),
      },
    );
    expect(await ask(tool("add"), { a: 2, b: 3 })).toEqual({ ok: true, text: "5" });
    expect(await ask(tool("upset"))).toMatchObject({ code: "TOOL_FAILED", message: "I am upset" });
    expect(await ask(tool("never"))).toMatchObject({ code: "TOOL_TIMEOUT" });
    expect(await ask(tool("much"))).toMatchObject({ code: "TOOL_TOO_LARGE" });
    for (const name of ["absent", "constructor"])
      expect(await ask(tool(name))).toMatchObject({ code: "TOOL_NOT_CONFIGURED" });
  });
});

describe("a built-in tool", () => {
  const page = `<html><head><title>no</title><script>var x = "<p>no</p>"</script></head><body><h1>Tides</h1>
    <div><p>The <b>moon</b> pulls.</p><p> </p><ul><li>no</li></ul><h3>Sun &amp; sea</h3></div></body></html>`;
  const results = `<div class="result"><a class="result__a big" href="//d.example/l/?uddg=https%3A%2F%2Fa.example%2F1">First</a>
    <a class="result__snippet">About <b>one</b>.</a></div><a class="result__a" href="https://b.example/">Second</a>`;

  it("calls the endpoint that the operator configured, and returns readable text", async () => {
    const server = await startToolServer({
      "/serper/news": ({ body, headers }, response) =>
        response.end(
          JSON.stringify({
            news: [{ title: body, link: headers["x-api-key"], position: 1 }, { title: "b" }, { title: "c" }],
          }),
        ),
      "/ddg": (_, response) => response.end(results),
      "/reader/http://PAGE/": (_, response) => response.end("read"),
      "/browser/content": ({ url, body }, response) => response.end(`<p>${url} ${body}</p>`),
      "/page": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(page),
      "/stock/NASDAQ/A%2FB": (_, response) => response.end('{"price":"7"}'),
    });
    open.push(server);
    const builtins = {
      serper: { url: `${server.url}/serper/`, key: "key-of-serper" },
      duckduckgo: { url: `${server.url}/ddg`, key: null },
      jina: { url: `${server.url}/reader`, key: "key-of-jina" },
      browserless: { url: `${server.url}/browser`, key: "key-of-browser" },
      scraper: { url: "", key: null },
      stock: { url: `${server.url}/stock/{exchange}/{ticker}`, key: null },
    };
    const ask = boxOf({ allow: allowing(server), builtins });
    const use = (name: BuiltinName, values: Record<string, unknown>) => ask(builtinTools[name].tool, values);
    const website = `${server.url}/page`;
    expect(await use("serper", { query: "a&b", search_type: "news", n_results: 2 })).toEqual({
      ok: true,
      text: 'title: {"q":"a&b","hl":"en","num":2}\nlink: ***\nposition: 1\n\ntitle: b',
    });
    expect(await use("duckduckgo", { query: "a&b=c" })).toEqual({
      ok: true,
      text: JSON.stringify([
        { title: "First", link: "https://a.example/1", snippet: "About one." },
        { title: "Second", link: "https://b.example/", snippet: "" },
      ]),
    });
    expect(server.requests("/ddg")[0]?.url).toBe("/ddg?q=a%26b%3Dc");
    expect(await use("scraper", { website })).toEqual({ ok: true, text: "Tides\nThe moon pulls.\nSun & sea" });
    expect(await use("browserless", { website })).toEqual({
      ok: true,
      text: `/browser/content?token=*** {"url":"${website}"}`,
    });
    expect(await use("jina", { website })).toMatchObject({ ok: true });
    expect(server.requests().at(-1)).toMatchObject({
      url: `/reader/${website}`,
      headers: { authorization: "Bearer key-of-jina" },
    });
    expect(await use("stock", { exchange: "NASDAQ", ticker: "A/B" })).toEqual({ ok: true, text: '{"price":"7"}' });
    // No request reaches the inside of a network, in any way.
    const before = server.requests().length;
    for (const inside of [
      "http://127.0.0.1:1/",
      "http://169.254.169.254/",
      "localhost",
      "file:///etc/passwd",
      "http://[::1]/",
    ]) {
      for (const name of ["jina", "browserless", "scraper"] as const) {
        expect(await use(name, { website: inside }), inside).toMatchObject({ ok: false, code: "TOOL_ADDRESS_REFUSED" });
      }
    }
    expect(server.requests()).toHaveLength(before);
  });

  it("that searches fails with the service's own message, and keeps an answer of another form unchanged", async () => {
    const answers: Record<string, string> = {
      "/e/search": '{"message":"Not enough credits","statusCode":400}',
      "/e/news": '{"error":{"code":"quota"}}',
      "/e/places": '{"places":[{"title":"Here"}]}',
      "/e/ddg": '{"error":"blocked"}',
    };
    const server = await startToolServer(
      Object.fromEntries(Object.entries(answers).map(([path, text]) => [path, (_, response) => response.end(text)])),
    );
    open.push(server);
    const serper = { url: `${server.url}/e`, key: "k" };
    const ask = boxOf({
      allow: allowing(server),
      builtins: { ...off, serper, duckduckgo: { url: `${server.url}/e/ddg`, key: null } },
    });
    const search = (search_type: string) => ask(builtinTools.serper.tool, { query: "x", search_type });
    for (const [kind, path] of [
      ["search", "/e/search"],
      ["news", "/e/news"],
    ] as const) {
      expect(await search(kind)).toMatchObject({
        ok: false,
        code: "TOOL_FAILED",
        message: expect.stringContaining(answers[path] ?? "?"),
      });
    }
    expect(await search("places")).toEqual({ ok: true, text: answers["/e/places"] });
    expect(await ask(builtinTools.duckduckgo.tool, { query: "x" })).toMatchObject({ ok: false, code: "TOOL_FAILED" });
  });

  it("is off unless it is configured", async () => {
    const ask = boxOf();
    for (const name of builtinNames) {
      expect(await ask(builtinTools[name].tool)).toMatchObject({
        code: "TOOL_NOT_CONFIGURED",
        message: expect.stringMatching(/TOOL_[A-Z]+/),
      });
    }
  });

  it("reads a page with two hundred thousand siblings", async () => {
    const wide = `<p>${"a<br>".repeat(200_000)}</p>${"<i></i>".repeat(200_000)}`;
    const server = await startToolServer({ "/wide": (_, response) => response.end(wide) });
    open.push(server);
    const ask = boxOf({
      allow: allowing(server),
      maxBytes: 2 ** 20,
      builtins: { ...off, scraper: { url: "", key: null } },
    });
    const result = await ask(builtinTools.scraper.tool, { website: `${server.url}/wide` });
    expect(result).toEqual({ ok: true, text: "a".repeat(200_000) });
  });

  it("reads a page that is nested a hundred thousand levels deep", async () => {
    const deep = `${"<div>".repeat(100_000)}<p>deep</p>`;
    const server = await startToolServer({ "/deep": (_, response) => response.end(deep) });
    open.push(server);
    const ask = boxOf({ allow: allowing(server), builtins: { ...off, scraper: { url: "", key: null } } });
    const result = await ask(builtinTools.scraper.tool, { website: `${server.url}/deep` });
    expect(result).toEqual({ ok: true, text: "deep" });
  });
});
