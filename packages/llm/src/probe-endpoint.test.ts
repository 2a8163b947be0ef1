import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { probeEndpoint } from "./probe-endpoint.ts";

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

type Reply = { readonly status?: number; readonly body?: unknown; readonly html?: string };

/** Answers by path; all other paths give 404. Returns the address and the received requests. */
async function endpoint(replies: Record<string, Reply>) {
  const asked: string[] = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "-"}`);
    const { status = 200, body = {}, html } = replies[request.url ?? ""] ?? { status: 404, body: { error: "no" } };
    response.writeHead(status, { "content-type": html === undefined ? "application/json" : "text/html" });
    response.end(html ?? JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const list = { body: { data: [{ id: "one" }, { id: "two" }] } };
const wrong = { status: 401, body: { error: { message: "Incorrect API key provided: sk-secret-of-mine-1234" } } };

it("probing an endpoint sends one request with the key and reads the list of models", async () => {
  const { url, asked } = await endpoint({ "/v1/models": list });
  expect(await probeEndpoint({ baseUrl: `${url}/v1/`, apiKey: "k" })).toEqual({ is: "usable", models: ["one", "two"] });
  expect(asked).toEqual(["GET /v1/models Bearer k"]);
});

it("probing an endpoint finds a wrong and a missing key, and repeats no key", async () => {
  const { url } = await endpoint({ "/v1/models": wrong });
  const found = await probeEndpoint({ baseUrl: `${url}/v1`, apiKey: "sk-secret-of-mine-1234" });
  expect(found).toMatchObject({ is: "refused", code: "MODEL_KEY_REFUSED" });
  expect(JSON.stringify(found)).not.toContain("secret-of-mine");
  expect(await probeEndpoint({ baseUrl: `${url}/v1`, apiKey: null })).toMatchObject({ code: "MODEL_KEY_MISSING" });
});

it("probing an endpoint finds an unreachable address, a web page, and an address without the API path", async () => {
  const { url } = await endpoint({ "/v1/models": list, "/page/models": { html: "<!doctype html><p>Hello" } });
  expect(await probeEndpoint({ baseUrl: url, apiKey: "k" })).toMatchObject({
    code: "MODEL_REPLY_HTML",
    why: expect.stringContaining(`${url}/v1 answers`),
  });
  expect(await probeEndpoint({ baseUrl: `${url}/page`, apiKey: "k" })).toMatchObject({ code: "MODEL_REPLY_HTML" });
  server?.close();
  const { url: gone } = await endpoint({});
  await new Promise((resolve) => server?.close(resolve));
  expect(await probeEndpoint({ baseUrl: `${gone}/v1`, apiKey: "k" })).toMatchObject({ code: "MODEL_UNREACHABLE" });
});

it.each([
  ["does not list its models", { status: 404 }],
  ["is overloaded", { status: 503 }],
  ["asks for fewer requests", { status: 429 }],
  ["has no list in its answer", { body: [] }],
  [
    "gives a key no right to list models",
    { status: 401, body: { error: { message: "Missing scopes: api.model.read" } } },
  ],
  ["forbids the list", { status: 403, body: { error: { message: "Not for you" } } }],
])("probing gives no verdict on an endpoint that %s", async (_, reply: Reply) => {
  const { url } = await endpoint({ "/v1/models": reply });
  expect(await probeEndpoint({ baseUrl: `${url}/v1`, apiKey: "k" })).toEqual({ is: "unknown" });
});
