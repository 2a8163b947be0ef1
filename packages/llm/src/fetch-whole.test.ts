// These tests compare createWholeFetch with fetch for the same server: except for speed they must behave the same.
import { execFile, execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createNetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createWholeFetch } from "./fetch-whole.ts";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { type InSlot, type ModelSlot, noLimit } from "./model-slot.ts";
import {
  both,
  closeServers,
  closing,
  type Fetch,
  idle,
  listening,
  MAX,
  outcome,
  post,
  serve,
  serveBytes,
  serveRaw,
  told,
} from "./testing-whole-fetch.ts";

afterEach(closeServers);

describe("a request of createWholeFetch equals the request of fetch", () => {
  const listener = (seen: unknown[]) => (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(pieces).toString("utf8") });
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  };

  it.each<[string, RequestInit]>([
    ["as the library sends it", {}],
    [
      "headers in a record",
      { headers: { "Content-Type": "application/json", "X-One": " spaced ", Host: "elsewhere" } },
    ],
    [
      "headers in a list, one of them twice",
      {
        headers: [
          ["X-One", "1"],
          ["x-one", "2"],
          ["Accept-Encoding", "identity"],
        ],
      },
    ],
    ["no headers", { headers: {} }],
    ["headers that are not ASCII", { headers: { "x-name": "Zo\u00eb" } }],
    ["a body that is not", { body: "Zo\u00eb \u{1f600} \ud800" }],
    ["no body to speak of", { body: "" }],
  ])("for this kind of call: %s", async (_, more) => {
    const seen: unknown[] = [];
    const url = `${await serve(listener(seen))}?a=b&c=%20`;
    await both(url, () => post(more));
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[1]).toMatchObject({ method: "POST", url: "/v1/chat?a=b&c=%20" });
  });

  it("over https", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fetch-whole-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const kind = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync("openssl", [...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const trusted = getCACertificates("default");
    closing.push(() => {
      setDefaultCACertificates(trusted);
      rmSync(folder, { recursive: true });
    });
    const seen: unknown[] = [];
    const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, listener(seen));
    const url = await listening(server, "https");
    expect(await both(url)).toMatchObject({ message: "fetch failed", cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
    setDefaultCACertificates([...trusted, readFileSync(cert, "utf8")]);
    expect(await both(url)).toMatchObject({ status: 200 });
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual(seen[0]);
  });

  it.each([
    ["a line break in a value", { "x-one": "a\r\nx-two: b" }],
    ["NUL in a value", { "x-one": "a\0b" }],
    ["a name that is none", { "x one": "a" }],
  ])("nothing is sent where fetch refuses the call: %s", async (_, headers) => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.end();
    });
    expect(await both(url, () => post({ headers: headers as Record<string, string> }))).toMatchObject({
      kind: "TypeError",
    });
    expect(requests).toBe(0);
  });

  it("connections are kept and reused, by whole replies and by others", async () => {
    let connections = 0;
    const server = createServer((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    );
    server.on("connection", () => {
      connections += 1;
    });
    const url = await listening(server);
    const ask = createWholeFetch(MAX);
    for (const one of [ask, ask, fetchWithoutTimeouts, ask, guardedFetch(MAX), ask]) {
      expect(await (await one(url, post())).text()).toBe("{}");
      await idle();
    }
    expect(connections).toBe(1);
  });

  it("a proxy of the process is used, by Node's fetch too", async () => {
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on("connect", (request, socket) => {
      asked.push(`${request.method} ${request.url}`);
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.once("data", (data: Buffer) => {
        asked.push(data.toString("latin1").split("\r\n")[0] ?? "");
        socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n"by proxy"');
      });
    });
    const address = await listening(proxy);
    const program = `
      const { createWholeFetch } = await import(${JSON.stringify(new URL("fetch-whole.ts", import.meta.url).href)});
      const post = { method: "POST", body: "{}", headers: {} };
      const whole = createWholeFetch(1000);
      const asking = [["x", whole], ["y", (url) => whole(url, { ...post, redirect: "follow" })], ["z", fetch]];
      for (const [path, ask] of asking) {
        process.stdout.write(await (await ask("http://model.invalid/v1/" + path, post)).text());
      }
    `;
    const env = { ...process.env, NODE_USE_ENV_PROXY: "1", HTTP_PROXY: new URL(address).origin, NO_PROXY: "" };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { env });
    expect(stdout).toBe('"by proxy"'.repeat(3));
    expect(asked).toEqual(["x", "y", "z"].flatMap((path) => ["CONNECT model.invalid:80", `POST /v1/${path} HTTP/1.1`]));
  });
});

describe("createWholeFetch and fetch return the same reply", () => {
  it.each<[string, string | Buffer, Record<string, string | number>, number]>([
    ["as usual", '{"a":1}', {}, 200],
    ["of another status", '{"error":{}}', {}, 429],
    ["of a status nobody knows", "{}", {}, 599],
    ["declared empty", "", { "content-length": 0 }, 200],
    ["empty, in chunks", "", { "transfer-encoding": "chunked" }, 200],
    ["204 without a body", "", {}, 204],
    ["205", "", {}, 205],
    ["304, which tells the length of what it does not send", "", { "content-length": 5_000_000 }, 304],
    ["a redirect to nowhere", "{}", {}, 302],
    ["with a byte order mark", "\ufeff{}", {}, 200],
    ["that is not UTF-8", Buffer.from([0x22, 0xff, 0xc3, 0x22]), {}, 200],
    ["of the wrong kind", "<html>", { "content-type": "text/html" }, 200],
    ["of the wrong kind, with an error", "<html>", { "content-type": "text/html" }, 500],
    ["that is a stream nobody asked for", "data: {}\n\n", { "content-type": "text/event-stream" }, 200],
    ["with a header twice", "{}", { "x-request-id": "a", "content-language": "de, en" }, 200],
  ])("for a reply %s", async (_, body, headers, status) => {
    await both(await serveBytes(body, headers, status));
  });

  it("and refuse a reply without a content type", async () => {
    expect(await both(await serve((_, response) => response.writeHead(204).end()))).toMatchObject({
      kind: "ReplyOfWrongKind",
    });
  });

  it("for a reply in thousands of pieces, even if a piece splits a character", async () => {
    const text = JSON.stringify("Zo\u00eb \u{1f600} ".repeat(2_000));
    const url = await serve(async (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.socket?.setNoDelay(true);
      for (const byte of Buffer.from(text)) {
        response.write(Buffer.of(byte));
        if (byte === 0xc3) await new Promise(setImmediate);
      }
      response.end();
    });
    expect(await both(url)).toMatchObject({ text });
  });

  it("with headers by name in any case, and repeated headers as a list", async () => {
    const url = await serve((_, response) => {
      response.writeHead(429, [
        ...["Content-Type", "application/json", "Retry-After", "7"],
        ...["X-Request-ID", "r1", "Via", "a", "via", "b"],
      ]);
      response.end("{}");
    });
    const { headers } = await createWholeFetch(MAX)(url, post());
    expect([headers.get("retry-after"), headers.get("Via"), headers.get("x-none")]).toEqual(["7", "a, b", null]);
    expect([...headers.entries()]).toContainEqual(["x-request-id", "r1"]);
  });

  it.each(["102 Processing", "103 Early Hints", "199 Odd", "100 Continue"])(
    "after an informational response: %s",
    async (first) => {
      const url = await serveRaw((socket) => {
        const last = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        socket.write(`HTTP/1.1 ${first}\r\nlink: </x>\r\n\r\n${last}`);
      });
      const found = await both(url);
      // undici treats an unrequested 100 as an error.
      expect(found).toMatchObject(
        first.startsWith("100") ? { cause: { code: "UND_ERR_SOCKET" } } : { status: 200, text: "{}" },
      );
    },
  );

  it("for a reply that ends with its connection", async () => {
    const url = await serveRaw((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{}"));
    expect(await both(url)).toMatchObject({ text: "{}" });
  });

  it.each([
    ["more than comes", "content-length: 50\r\n\r\n{}"],
    ["less than comes", "content-length: 2\r\n\r\n{}{}{}"],
    ["two lengths", "content-length: 2\r\ncontent-length: 3\r\n\r\n{}"],
    ["no number", "content-length: many\r\n\r\n{}"],
    ["a length beside chunks", "content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
  ])("for a reply that declares %s", async (_, rest) => {
    const url = await serveRaw((socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${rest}`));
    await both(url);
  });
});

describe("createWholeFetch and fetch decode content encodings in the same way", () => {
  const text = JSON.stringify("word ".repeat(3_000));
  const gzipped = gzipSync(text);

  it.each<[string, Buffer]>([
    ["gzip", gzipped],
    ["x-gzip", gzipped],
    ["GZip", gzipped],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["gzip, br", brotliCompressSync(gzipped)],
    ["deflate , gzip", gzipSync(deflateRawSync(text))],
    ["identity", Buffer.from(text)],
    ["rot13", Buffer.from(text)],
    ["rot13, gzip", gzipped],
  ])("the encoding %s is read", async (encoding, body) => {
    const found = await both(await serveBytes(body, { "content-encoding": encoding }));
    if (!encoding.startsWith("rot13,")) expect(found).toMatchObject({ text });
  });

  it.each<[string, string, Buffer]>([
    ["cut", "gzip", gzipped.subarray(0, gzipped.length - 20)],
    ["cut", "deflate", deflateSync(text).subarray(0, 40)],
    ["not what it says", "gzip", Buffer.from(text)],
    ["not what it says", "br", Buffer.from(text)],
    ["not what it says", "deflate", Buffer.from([0x78, 1, 2, 3])],
    ["empty", "gzip", Buffer.alloc(0)],
    ["empty", "br", Buffer.alloc(0)],
    ["two members", "gzip", Buffer.concat([gzipSync('"a'), gzipSync('b"')])],
    ["rubbish behind it", "gzip", Buffer.concat([gzipSync("{}"), Buffer.from("rubbish")])],
    ["an error", "gzip", gzipped],
  ])("for this kind of body: %s (%s)", async (what, encoding, body) => {
    await both(await serveBytes(body, { "content-encoding": encoding }, what === "an error" ? 500 : 200));
  });

  it("more than five encodings are refused before they are decoded", async () => {
    const encoding = Array.from({ length: 6 }, () => "gzip").join(",");
    const url = await serveBytes(gzipped, { "content-encoding": encoding });
    const found = await outcome(createWholeFetch(MAX), url);
    expect(found).toMatchObject({ kind: "TypeError", message: "fetch failed" });
    expect(await outcome(guardedFetch(MAX), url)).toMatchObject({ kind: "TypeError", message: "fetch failed" });
  });
});

describe("the size limit of createWholeFetch", () => {
  const packers: Record<string, (body: Buffer) => Buffer> = {
    gzip: gzipSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };

  it.each(["declared", "in chunks", "gzip", "br", "zstd"])("is exact to the byte: %s", async (how) => {
    for (const size of [MAX - 1, MAX, MAX + 1]) {
      const body = Buffer.from(JSON.stringify("x".repeat(size - 2)));
      const sent = packers[how]?.(body) ?? body;
      const url = await serve((_, response) => {
        const length = how === "declared" ? { "content-length": size } : {};
        const encoding = how in packers ? { "content-encoding": how } : {};
        response.writeHead(200, { "content-type": "application/json", ...length, ...encoding });
        response.write(sent.subarray(0, 100));
        setImmediate(() => response.end(sent.subarray(100)));
      });
      const found = JSON.stringify(await both(url));
      if (size > MAX) expect(found).toContain("ReplyTooLarge");
      else expect(found).toContain(`"status":200`);
    }
  });

  it.each(["application/json", "text/event-stream"])(
    "ends the connection of an endless reply, which is not held in memory (%s)",
    async (contentType) => {
      let sent = 0;
      const closed = Promise.withResolvers<void>();
      const url = await serve((_, response) => {
        response.writeHead(200, { "content-type": contentType });
        const more = () => {
          while (!response.destroyed && response.write("data: 0123456789\n".repeat(1_000))) sent += 17_000;
          sent += 17_000;
        };
        response.on("drain", more).on("close", closed.resolve);
        more();
      });
      const response = await createWholeFetch(MAX)(url, post());
      expect(told(await response.text().catch((error: unknown) => error))).toMatchObject({ kind: "ReplyTooLarge" });
      await closed.promise;
      expect(sent).toBeLessThan(50_000_000);
    },
  );

  /** 400 MB of zeros, compressed once. */
  let bomb: Promise<Buffer> | undefined;
  async function makeBomb(): Promise<Buffer> {
    const pieces: Buffer[] = [];
    const gzip = createGzip();
    gzip.on("data", (piece) => pieces.push(piece));
    const zeros = Buffer.alloc(1 << 20, "0");
    for (let written = 0; written < 400; written++) {
      if (!gzip.write(zeros)) await new Promise((resolve) => gzip.once("drain", resolve));
    }
    await new Promise((resolve) => gzip.once("end", resolve).end());
    return Buffer.concat(pieces);
  }

  it.each(["gzip", "gzip, gzip"])(
    "refuses a compression bomb without holding its output in memory (%s)",
    async (encoding) => {
      bomb ??= makeBomb();
      const once = await bomb;
      const url = await serveBytes(encoding === "gzip" ? once : gzipSync(once), { "content-encoding": encoding });
      const before = process.memoryUsage().rss;
      const response = await createWholeFetch(1_000_000)(url, post());
      expect(told(await response.text().catch((error: unknown) => error))).toMatchObject({ kind: "ReplyTooLarge" });
      expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    },
  );
});

describe("createWholeFetch and fetch report connection faults in the same way", () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

  it("no server is listening", async () => {
    const server = createNetServer();
    const url = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await both(url)).toMatchObject({ message: "fetch failed", cause: { code: "ECONNREFUSED" } });
  });

  it("the host does not exist", async () => {
    expect(await both("http://model.invalid/v1")).toMatchObject({ message: "fetch failed", cause: { name: "Error" } });
  });

  it.each([
    ["with a length", `${head}content-length: 9\r\n\r\n{"a": 1.}`],
    ["in chunks", `${head}transfer-encoding: chunked\r\n\r\n4\r\n{"a"\r\n5\r\n: 1.}\r\n0\r\n\r\n`],
  ])("the connection is cut at any byte, %s", async (_, reply) => {
    const counts = new Map<string, number>();
    let upTo = 0;
    const url = await serveRaw((socket) => socket.end(reply.slice(0, upTo)));
    for (; upTo <= reply.length; upTo++) {
      const found = JSON.stringify(await both(url));
      const kind = /fetch failed|terminated|1\.\}/.exec(found)?.[0] ?? found;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const headLength = reply.indexOf("\r\n\r\n") + 4;
    expect(Object.fromEntries(counts)).toEqual({
      "fetch failed": headLength,
      terminated: reply.length - headLength,
      "1.}": 1,
    });
  });

  it("the connection is reset", async () => {
    const url = await serveRaw((socket) => socket.resetAndDestroy());
    expect(await both(url)).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    const within = await serveRaw((socket) => {
      socket.write(`${head}content-length: 50\r\n\r\n{}`);
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    expect(await both(within)).toMatchObject({ text: { message: "terminated", cause: { code: "ECONNRESET" } } });
  });

  it("the server does not speak HTTP", async () => {
    const url = await serveRaw((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
    expect(await both(url)).toMatchObject({ message: "fetch failed", cause: { name: "HTTPParserError" } });
  });

  it("when the server closes a kept connection during its reuse, the request is not sent a second time", async () => {
    const twice = async (ask: Fetch) => {
      let requests = 0;
      const url = await serveRaw((socket, turn) => {
        requests += 1;
        if (turn === 1) socket.write(`${head}content-length: 2\r\n\r\n{}`);
        else socket.destroy();
      });
      const first = await outcome(ask, url);
      await idle();
      return { found: [first, await outcome(ask, url)], requests };
    };
    const expected = await twice(guardedFetch(MAX));
    expect(await twice(createWholeFetch(MAX))).toEqual(expected);
    expect(expected).toMatchObject({ requests: 2, found: [{ text: "{}" }, { cause: { code: "UND_ERR_SOCKET" } }] });
  });

  it("a kept connection that was closed while idle is not used again", async () => {
    const sockets: Socket[] = [];
    const url = await serveRaw((socket) => {
      sockets.push(socket);
      socket.write(`${head}content-length: 2\r\n\r\n{}`);
    });
    const ask = createWholeFetch(MAX);
    expect(await outcome(ask, url)).toMatchObject({ text: "{}" });
    sockets[0]?.end();
    await new Promise((resolve) => sockets[0]?.once("close", resolve));
    expect(await outcome(ask, url)).toMatchObject({ text: "{}" });
    expect(new Set(sockets).size).toBe(2);
  });

  it("a fault after the headers of an unread reply causes no unhandled error", async () => {
    const closed = Promise.withResolvers<void>();
    const url = await serveRaw((socket) => {
      socket.on("close", () => closed.resolve());
      socket.write(`${head}content-length: 50\r\n\r\n`);
      setTimeout(() => socket.destroy(), 20);
    });
    expect((await createWholeFetch(MAX)(url, post())).status).toBe(200);
    await closed.promise;
    // An unhandled rejection would fail this file.
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
});

describe("an aborted request of createWholeFetch", () => {
  const reply = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a": 1.}';

  it("sends nothing if it is aborted before it begins", async () => {
    let connections = 0;
    const server = createNetServer(() => {
      connections += 1;
    });
    const url = await listening(server);
    const reason = new Error("no more");
    expect(await both(url, () => post({ signal: AbortSignal.abort(reason) }))).toMatchObject({ message: "no more" });
    expect(await both(url, () => post({ signal: AbortSignal.abort() }))).toMatchObject({ name: "AbortError" });
    expect(connections).toBe(0);
  });

  it("ends at once and sends nothing if it is aborted while it connects", async () => {
    let bytes = 0;
    const ended = Promise.withResolvers<void>();
    const server = createNetServer((socket) => {
      socket.on("data", (data) => {
        bytes += data.length;
      });
      socket.on("close", () => ended.resolve());
    });
    const url = await listening(server);
    const stop = new AbortController();
    const call = outcome(createWholeFetch(MAX), url, post({ signal: stop.signal }));
    stop.abort();
    expect(await call).toMatchObject({ name: "AbortError" });
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    // The connection stays open for other requests, but the aborted request is never written to it.
    await Promise.race([ended.promise, new Promise((resolve) => setTimeout(resolve, 200))]);
    expect(bytes).toBe(0);
  });

  it("rejects with the abort's reason and destroys the connection, at any byte of the reply", async () => {
    const came: PromiseWithResolvers<Socket>[] = [];
    let upTo = 0;
    const url = await serveRaw((socket) => {
      socket.write(reply.slice(0, upTo));
      came.at(-1)?.resolve(socket);
    });
    for (upTo = 0; upTo < reply.length; upTo++) {
      came.push(Promise.withResolvers<Socket>());
      const stop = new AbortController();
      const call = outcome(createWholeFetch(MAX), url, post({ signal: stop.signal }));
      const socket = await (came.at(-1) as PromiseWithResolvers<Socket>).promise;
      const closed = new Promise((resolve) => socket.once("close", resolve));
      // Some are aborted after the bytes were read, some before.
      if (upTo % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      stop.abort(new Error("no more"));
      const found = (await call) as { message?: string; text?: { message: string } };
      expect(found.text?.message ?? found.message).toBe("no more");
      await closed;
      expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    }
  });

  it("changes nothing and keeps the connection if it is aborted after its end", async () => {
    let connections = 0;
    const server = createServer((_, response) =>
      response.writeHead(200, { "content-type": "application/json", "content-length": 2 }).end("{}"),
    );
    server.on("connection", () => {
      connections += 1;
    });
    const url = await listening(server);
    const stop = new AbortController();
    const response = await createWholeFetch(MAX)(url, post({ signal: stop.signal }));
    expect(await response.text()).toBe("{}");
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    stop.abort();
    expect(await response.text()).toBe("{}");
    await idle();
    await outcome(createWholeFetch(MAX), url);
    expect(connections).toBe(1);
  });
});

describe("a request with a slot", () => {
  const inSlot = (slot: ModelSlot, more: RequestInit = {}): InSlot => ({ ...post(more), slot });

  it("is not sent before its slot has begun, and releases the slot with the last byte of its reply", async () => {
    let asked = 0;
    const url = await serve((_, response) => {
      asked += 1;
      response.writeHead(asked === 1 ? 200 : 429, { "content-type": "application/json" }).end("{}");
    });
    for (const _status of [200, 429]) {
      const before = asked;
      const begun = Promise.withResolvers<void>();
      const saw: string[] = [];
      const slot = { ...noLimit, begin: () => begun.promise, arrived: () => void saw.push("arrived") };
      const call = createWholeFetch(MAX)(url, inSlot(slot)).then((response) => response.text());
      void call.then(() => saw.push("read"));
      await idle();
      expect([asked, saw]).toEqual([before, []]);
      begun.resolve();
      expect(await call).toBe("{}");
      expect(saw).toEqual(["arrived", "read"]);
    }
  });

  it("leaves before the reply that freed its slot is parsed", async () => {
    const url = await serveBytes("{}");
    const ask = createWholeFetch(MAX);
    const saw: string[] = [];
    const free = Promise.withResolvers<void>();
    const next = ask(url, inSlot({ ...noLimit, begin: () => free.promise.then(() => void saw.push("leaves")) }));
    const first = ask(url, inSlot({ ...noLimit, arrived: () => free.resolve() }));
    const read = first.then((response) => response.text()).then(() => saw.push("read"));
    await Promise.all([read, next]);
    expect(saw).toEqual(["leaves", "read"]);
  });

  it("is never sent if it is aborted before its slot begins, and gets its reply if it is aborted after the last byte", async () => {
    let asked = 0;
    const url = await serve((_, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    const stop = new AbortController();
    const slot: ModelSlot = { ...noLimit, begin: async () => stop.abort(new Error("no more")) };
    await expect(createWholeFetch(MAX)(url, inSlot(slot, { signal: stop.signal }))).rejects.toThrow("no more");
    expect(asked).toBe(0);
    const late = new AbortController();
    const ended: ModelSlot = { ...noLimit, arrived: () => late.abort(new Error("no more")) };
    const reply = await createWholeFetch(MAX)(url, inSlot(ended, { signal: late.signal }));
    expect([await reply.text(), late.signal.aborted]).toEqual(["{}", true]);
  });

  it("waits for its slot only once if fetch sends it", async () => {
    const there = await serveBytes("{}");
    const url = await serve((_, response) => response.writeHead(307, { location: there }).end());
    const ask = createWholeFetch(MAX);
    for (const what of ["the first time", "from then on"]) {
      const begin = vi.fn(async () => undefined);
      const slot: ModelSlot = { ...noLimit, begin };
      expect(await (await ask(url, inSlot(slot))).text(), what).toBe("{}");
      expect(begin, what).toHaveBeenCalledTimes(1);
    }
  });
});
