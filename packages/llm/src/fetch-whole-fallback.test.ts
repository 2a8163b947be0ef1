import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWholeFetch } from "./fetch-whole.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { BODY, both, closeServers, MAX, outcome, post, serve, serveBytes } from "./testing-whole-fetch.ts";

afterEach(closeServers);

describe("what is left to fetch", () => {
  let fetched: ReturnType<typeof vi.spyOn>;
  beforeEach(() => {
    fetched = vi.spyOn(globalThis, "fetch");
  });

  it.each([301, 302, 303, 307, 308])(
    "a redirect (%i), from then on at once; another place never sees the key",
    async (status) => {
      const seen: [string, IncomingMessage["headers"]][] = [];
      const there = await serve((request, response) => {
        seen.push([`there ${request.method}`, request.headers]);
        response.writeHead(200, { "content-type": "application/json" }).end('"moved"');
      });
      const here = await serve((request, response) => {
        seen.push([`here ${request.method}`, request.headers]);
        response.writeHead(status, { location: there }).end();
      });
      const ask = createWholeFetch(MAX);
      for (let turn = 0; turn < 2; turn++) expect(await outcome(ask, here)).toMatchObject({ text: '"moved"' });
      const last = status < 304 ? "there GET" : "there POST";
      expect(seen.map(([what]) => what)).toEqual(["here POST", "here POST", last, "here POST", last]);
      for (const [what, { authorization }] of seen) {
        expect(authorization).toBe(what.startsWith("here") ? "Bearer secret" : undefined);
      }
      expect(fetched).toHaveBeenCalledTimes(2);
    },
  );

  it("a redirect without end, or to something that is no address", async () => {
    const round = await serve((request, response) => response.writeHead(307, { location: request.url }).end());
    const found = await outcome(createWholeFetch(MAX), round);
    expect(found).toMatchObject({ message: "fetch failed", cause: { message: "redirect count exceeded" } });
    const file = await serve((_, response) => response.writeHead(307, { location: "file:///etc/passwd" }).end());
    expect(await outcome(createWholeFetch(MAX), file)).toMatchObject({ message: "fetch failed" });
  });

  it.each([407, 421])("status %i, and the next request is ours again", async (status) => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests += 1;
      response.writeHead(requests === 1 ? status : 200, { "content-type": "application/json" }).end("{}");
    });
    const ask = createWholeFetch(MAX);
    expect(await outcome(ask, url)).toMatchObject({ status: 200 });
    expect(await outcome(ask, url)).toMatchObject({ status: 200 });
    expect(requests).toBe(3);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it.each<[string, RequestInit]>([
    ["another method", { method: "GET", body: null }],
    ["a body that is bytes", { body: new TextEncoder().encode(BODY) }],
    ["an option of fetch", { redirect: "error" }],
  ])("%s", async (_, more) => {
    const url = await serveBytes("{}");
    expect(await outcome(createWholeFetch(MAX), url, post(more))).toMatchObject({ text: "{}" });
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it.each(["http://me:secret@127.0.0.1:1/", "nowhere", "file:///etc/passwd", "http://127.0.0.1:1/?"])(
    "the address %s",
    async (url) => {
      expect(await outcome(createWholeFetch(MAX), url)).toEqual(await outcome(guardedFetch(MAX), url));
      expect(fetched).toHaveBeenCalledTimes(2);
    },
  );
});

describe("the dispatcher", () => {
  const key = Symbol.for("undici.globalDispatcher.1");
  const place = globalThis as unknown as Record<symbol, { dispatch(...given: unknown[]): boolean } | undefined>;
  const nodes = place[key];
  afterEach(() => {
    place[key] = nodes;
  });

  it("is there in this Node", () => {
    expect(nodes).toBeDefined();
  });

  it("elsewhere: fetch is asked", async () => {
    const url = await serveBytes('"fetched"');
    const ordinary = globalThis.fetch;
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async (...given) => {
      place[key] = nodes;
      return await ordinary(...given);
    });
    place[key] = undefined;
    expect(await outcome(createWholeFetch(MAX), url)).toMatchObject({ text: '"fetched"' });
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it("that refuses, by a throw or by its handler", async () => {
    place[key] = {
      dispatch: () => {
        throw new Error("closed");
      },
    };
    const expected = { kind: "TypeError", message: "fetch failed", cause: { message: "closed" } };
    expect(await both("http://127.0.0.1:8080/")).toMatchObject(expected);
    place[key] = {
      dispatch: (_, handler) => {
        (handler as { onError(error: Error): void }).onError(new Error("closed"));
        return true;
      },
    };
    expect(await both("http://127.0.0.1:8080/")).toMatchObject(expected);
  });

  it("sets no limits of its own to a reply that takes its time", async () => {
    const seen: unknown[] = [];
    place[key] = {
      dispatch: (options, handler) => {
        seen.push(options);
        return nodes?.dispatch(options, handler) ?? false;
      },
    };
    await outcome(createWholeFetch(MAX), await serveBytes("{}"));
    expect(seen).toMatchObject([{ headersTimeout: 0, bodyTimeout: 0 }]);
  });
});
