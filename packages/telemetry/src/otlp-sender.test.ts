import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createSender } from "./otlp-sender.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
}

const body = new Uint8Array([1, 2, 3]);

it("the OTLP sender sends protobuf with the operator's headers, and credentials of the address become a header", async () => {
  const seen: unknown[] = [];
  const url = await serve((request, response) => {
    const { "content-type": type, authorization, "x-key": key } = request.headers;
    seen.push([request.method, request.url, type, authorization, key]);
    response.end();
  });
  const sender = createSender({
    url: url.replace("//", "//me:pa%20ss@"),
    headers: { "x-key": "k" },
    timeoutMs: 2_000,
  });
  await sender.send(body);
  const basic = `Basic ${Buffer.from("me:pa ss").toString("base64")}`;
  expect(seen).toEqual([["POST", "/v1/traces", "application/x-protobuf", basic, "k"]]);
});

it("the OTLP sender retries a busy collector, and fails at once if the collector refuses", async () => {
  let asked = 0;
  const busy = await serve((_, response) => response.writeHead(asked++ === 0 ? 503 : 200).end());
  await createSender({ url: busy, headers: {}, timeoutMs: 5_000 }).send(body);
  expect(asked).toBe(2);
  const refusing = await serve((_, response) => response.writeHead(400).end());
  await expect(createSender({ url: refusing, headers: {}, timeoutMs: 5_000 }).send(body)).rejects.toThrow("400");
});

it("the OTLP sender gives up a hanging collector after its time, and at once when it is cut", async () => {
  const url = await serve(() => undefined);
  await expect(createSender({ url, headers: {}, timeoutMs: 200 }).send(body)).rejects.toThrow();
  const sender = createSender({ url, headers: {}, timeoutMs: 60_000 });
  const sent = sender.send(body);
  setTimeout(sender.cut, 50);
  await expect(sent).rejects.toThrow("the process ends");
  const away = createSender({ url: "http://127.0.0.1:1/v1/traces", headers: {}, timeoutMs: 60_000 });
  const waiting = away.send(body);
  setTimeout(away.cut, 50);
  await expect(waiting).rejects.toThrow();
});

it("the OTLP sender follows no redirect, so a key reaches only the named collector", async () => {
  const url = await serve((_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end());
  await expect(createSender({ url, headers: {}, timeoutMs: 500 }).send(body)).rejects.toThrow();
});
