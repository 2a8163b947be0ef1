import { afterEach, describe, expect, it } from "vitest";
import { builtInCatalogue } from "./model-catalogue.ts";
import { createModelClient } from "./model-client.ts";
import { ModelFailure } from "./model-failure.ts";
import { ask, client, closeServers, failureOf, serve, serveBody, serveRaw } from "./testing-model-client.ts";

afterEach(closeServers);

describe("keys, names and addresses of the model client", () => {
  it("a wrong key parks the run, names the variable to set, and is not shown", async () => {
    const { url } = await serve("default: { reply: x }", "the-right-key");
    const failure = await failureOf(client(url).complete(ask("x")));
    expect(failure).toMatchObject({ code: "MODEL_KEY_REFUSED", next: "park" });
    expect(failure.message).toContain("OPENAI_API_KEY");
    const echoing = await serveRaw((request, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `bad key ${request.headers.authorization}` } }));
    });
    expect((await failureOf(client(echoing).complete(ask("x")))).message).not.toContain("sk-test-key");
  });

  it("a missing key is accepted where none is needed, and named where one is", async () => {
    const free = await serve("default: { reply: hello }");
    const keyless = (baseUrl: string) => createModelClient({ baseUrl, catalogue: builtInCatalogue });
    await expect(keyless(free.url).complete(ask("x"))).resolves.toMatchObject({ text: "hello" });
    const guarded = await serve("default: { reply: hello }", "the-right-key");
    expect((await failureOf(keyless(guarded.url).complete(ask("x")))).code).toBe("MODEL_KEY_MISSING");
    const unset = createModelClient({ catalogue: builtInCatalogue });
    expect((await failureOf(unset.complete(ask("x")))).code).toBe("MODEL_KEY_MISSING");
  });

  it("a model without a price is refused before anything is sent", async () => {
    const { url, requests } = await serve("default: { reply: x }");
    const failure = await failureOf(client(url).complete(ask("x", { model: "unheard-of" })));
    expect(failure).toMatchObject({ code: "MODEL_NOT_IN_CATALOGUE", next: "hold" });
    expect(requests()).toEqual([]);
  });

  it("an invalid address is refused at once", () => {
    expect(() => client("localhost:8080/v1")).toThrow(/OPENAI_BASE_URL.*localhost:8080/);
    expect(() => client("not a url")).toThrow(ModelFailure);
  });

  it("a key or address whose secret an error could show is refused without showing it", async () => {
    const refusal = (make: () => unknown) => {
      try {
        make();
      } catch (error) {
        if (error instanceof ModelFailure) return error;
      }
      throw new Error("not refused");
    };
    const key = refusal(() => client("http://127.0.0.1/v1", { apiKey: "hidden\nsecret" }));
    const address = refusal(() => client("http://me:secret@127.0.0.1/v1"));
    expect([key.code, address.code]).toEqual(["MODEL_KEY_REFUSED", "MODEL_URL_INVALID"]);
    expect(key.message + address.message).not.toContain("secret");
  });

  it("a key with a line end works without the line end", async () => {
    const { url } = await serve("default: { reply: hello }", "the-right-key");
    await expect(client(url, { apiKey: "the-right-key\n" }).complete(ask("x"))).resolves.toMatchObject({
      text: "hello",
    });
    expect((await failureOf(client(url, { apiKey: " " }).complete(ask("x")))).code).toBe("MODEL_KEY_MISSING");
  });

  it("an address without the API path is named in the failure", async () => {
    const { url } = await serve("default: { reply: x }");
    const failure = await failureOf(client(url.replace("/v1", "")).complete(ask("x")));
    expect(failure.code).toBe("MODEL_NOT_FOUND");
    expect(failure.message).toContain("OPENAI_BASE_URL");
  });
});

describe("the API key in texts of the endpoint", () => {
  const key = "sk-proj/0123+456789abcdef";
  const spellings = [key, encodeURIComponent(key), key.slice(0, 18)];

  it.each(spellings)("is removed from a failure, even at a cut: %s", async (spelling) => {
    for (const pad of [0, 470, 480, 490, 495]) {
      const message = `${"x".repeat(pad)} ${spelling} ${"y".repeat(300)}`;
      const url = await serveBody(JSON.stringify({ error: { message } }), { status: 401 });
      const failure = await failureOf(client(url, { apiKey: key }).complete(ask("x")));
      for (const text of [failure.message, failure.reason]) {
        for (let at = 0; at + 12 <= spelling.length; at++) expect(text).not.toContain(spelling.slice(at, at + 12));
      }
    }
  });

  it.each(spellings)("is removed from a reply: %s", async (spelling) => {
    const message = { content: `You sent ${spelling}.`, reasoning: spelling };
    const url = await serveBody(JSON.stringify({ model: spelling, choices: [{ message, finish_reason: "stop" }] }));
    const reply = await client(url, { apiKey: key }).complete(ask("x"));
    expect(JSON.stringify(reply)).not.toContain(spelling.slice(0, 12));
    expect(reply.text).toMatch(/^You sent \*\*\*/);
  });
});
