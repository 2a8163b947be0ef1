import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connections } from "./connections.ts";
import { createWholeFetch } from "./fetch-whole.ts";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { BODY, both, closeServers, MAX, outcome, post, serve, serveBytes } from "./testing-whole-fetch.ts";

afterEach(closeServers);

describe("requests that createWholeFetch passes to fetch", () => {
  const fetched = vi.fn(fetchWithoutTimeouts);
  beforeEach(() => {
    fetched.mockClear();
  });

  it.each([301, 302, 303, 307, 308])(
    "a redirect (%i): later requests go directly to fetch, and another host never gets the key",
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
      const ask = createWholeFetch(MAX, fetched);
      for (let turn = 0; turn < 2; turn++) expect(await outcome(ask, here)).toMatchObject({ text: '"moved"' });
      const last = status < 304 ? "there GET" : "there POST";
      expect(seen.map(([what]) => what)).toEqual(["here POST", "here POST", last, "here POST", last]);
      for (const [what, { authorization }] of seen) {
        expect(authorization).toBe(what.startsWith("here") ? "Bearer secret" : undefined);
      }
      expect(fetched).toHaveBeenCalledTimes(2);
    },
  );

  it("an endless redirect, or one to an invalid address", async () => {
    const round = await serve((request, response) => response.writeHead(307, { location: request.url }).end());
    const found = await outcome(createWholeFetch(MAX, fetched), round);
    expect(found).toMatchObject({ message: "fetch failed", cause: { message: "redirect count exceeded" } });
    const file = await serve((_, response) => response.writeHead(307, { location: "file:///etc/passwd" }).end());
    expect(await outcome(createWholeFetch(MAX, fetched), file)).toMatchObject({ message: "fetch failed" });
  });

  it.each([407, 421])("a request answered with status %i, but not the next request", async (status) => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests += 1;
      response.writeHead(requests === 1 ? status : 200, { "content-type": "application/json" }).end("{}");
    });
    const ask = createWholeFetch(MAX, fetched);
    expect(await outcome(ask, url)).toMatchObject({ status: 200 });
    expect(await outcome(ask, url)).toMatchObject({ status: 200 });
    expect(requests).toBe(3);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it.each<[string, RequestInit]>([
    ["another method", { method: "GET", body: null }],
    ["a body that is bytes", { body: new TextEncoder().encode(BODY) }],
    ["an option of fetch", { redirect: "error" }],
  ])("a call with %s", async (_, more) => {
    const url = await serveBytes("{}");
    expect(await outcome(createWholeFetch(MAX, fetched), url, post(more))).toMatchObject({ text: "{}" });
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it.each(["http://me:secret@127.0.0.1:1/", "nowhere", "file:///etc/passwd", "http://127.0.0.1:1/?"])(
    "a call to the address %s",
    async (url) => {
      expect(await outcome(createWholeFetch(MAX, fetched), url)).toEqual(await outcome(guardedFetch(MAX), url));
      expect(fetched).toHaveBeenCalledTimes(1);
    },
  );
});

describe("the dispatcher", () => {
  it("that refuses, by a throw or by its handler", async () => {
    const dispatch = vi.spyOn(connections, "dispatch").mockImplementation(() => {
      throw new Error("closed");
    });
    const expected = { kind: "TypeError", message: "fetch failed", cause: { message: "closed" } };
    expect(await both("http://127.0.0.1:8080/")).toMatchObject(expected);
    const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} };
    dispatch.mockImplementation((_, handler) => {
      handler.onResponseError?.(controller, new Error("closed"));
      return true;
    });
    expect(await both("http://127.0.0.1:8080/")).toMatchObject(expected);
  });
});
