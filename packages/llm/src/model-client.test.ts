import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelFailure } from "./model-failure.ts";
import { type ModelSlot, noLimit } from "./model-slot.ts";
import {
  ask,
  client,
  closeServers,
  failureOf,
  open,
  serve,
  serveBody,
  serveRaw,
  ways,
} from "./testing-model-client.ts";

afterEach(closeServers);

describe("a reply of the model client", () => {
  it("contains its usage, priced from the catalogue", async () => {
    const { url } = await serve("default: { reply: Points 7, usage: { prompt: 100, completion: 5 } }");
    await expect(client(url).complete(ask("Mark this."))).resolves.toEqual({
      text: "Points 7",
      finishReason: "stop",
      model: "scripted",
      usage: {
        promptTokens: 100,
        completionTokens: 5,
        nanodollars: 100 * 1_000 + 5 * 2_000,
        characters: "Mark this.Points 7".length,
        estimated: false,
      },
    });
  });

  it("is the same when streamed, and its pieces together are the whole text", async () => {
    const { url, requests } = await serve(
      "default: { reply: 'A longer remark, with 😀 in it, that takes several pieces to arrive.', usage: { prompt: 9, completion: 8 } }",
    );
    const pieces: string[] = [];
    const streamed = await client(url).complete(ask("x"), { onDelta: (piece) => pieces.push(piece) });
    expect(streamed).toEqual(await client(url).complete(ask("x")));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(streamed.text);
    expect(requests().map(({ stream }) => stream)).toEqual([true, false]);
  });

  it("is requested with the settings under the model's own names", async () => {
    const { url, requests } = await serve("default: { reply: ok }");
    const settings = {
      temperature: 0.3,
      topP: 0.9,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      maxOutputTokens: 55,
      stop: ["END"],
    };
    await client(url).complete(ask("x", { settings }), { idempotencyKey: "call-1" });
    await client(url).complete(ask("x", { settings, model: "gpt-5-mini" }));
    expect(requests()[0]).toMatchObject({ idempotencyKey: "call-1", model: "scripted" });
    expect(requests().map(({ body }) => body)).toEqual([
      {
        model: "scripted",
        messages: [{ role: "user", content: "x" }],
        temperature: 0.3,
        top_p: 0.9,
        frequency_penalty: 0.1,
        presence_penalty: 0.2,
        max_tokens: 55,
        stop: ["END"],
      },
      { model: "gpt-5-mini", messages: [{ role: "user", content: "x" }], max_completion_tokens: 55 },
    ]);
  });

  it("is requested as JSON by schema", async () => {
    const { url, requests } = await serve("default: { verbatim: true, reply: '{\"points\": 7}' }");
    const schema = { name: "grade", schema: { type: "object" }, strict: true };
    await client(url).complete(ask("x", { schema }));
    expect(requests()[0]?.body).toMatchObject({ response_format: { type: "json_schema", json_schema: schema } });
  });

  it.each(ways)("that was cut at the output limit is marked as cut (%s)", async (_, how) => {
    const { url } = await serve(`default: { reply: ${"word ".repeat(100)} }`);
    const reply = await client(url).complete(ask("x", { settings: { maxOutputTokens: 10 } }), how);
    expect(reply).toMatchObject({ finishReason: "length", usage: { completionTokens: 10 } });
    expect(reply.text).toHaveLength(40);
  });

  it.each(ways)("that the content filter withheld is refused, and still has its price (%s)", async (_, how) => {
    const { url } = await serve("default: { reply: '', finish: content_filter, usage: { prompt: 3, completion: 1 } }");
    await expect(client(url).complete(ask("x"), how)).resolves.toMatchObject({
      finishReason: "refused",
      usage: { nanodollars: 5_000 },
    });
  });

  it.each(ways)("with any content can be stored in Postgres (%s)", async (_, how) => {
    const { url } = await serve('default: { reply: "a\\0b\\uD800c" }');
    const { text } = await client(url).complete(ask("x"), how);
    expect(text).toBe("a\uFFFDb\uFFFDc");
  });

  it("without usage gets our own estimate, marked as such", async () => {
    const url = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ choices: [{ message: { content: "seven points" }, finish_reason: "stop" }] }));
    });
    const reply = await client(url).complete(ask("Mark this."));
    expect(reply.usage.estimated).toBe(true);
    expect(reply.usage.nanodollars).toBeGreaterThan(0);
    expect(reply.model).toBe("scripted");
  });
});

describe("a fault of the endpoint becomes a failure with its next step", () => {
  const faults: [fault: string, expected: Partial<ModelFailure>][] = [
    ["{ status: 429, retryAfter: 3 }", { code: "MODEL_RATE_LIMITED", next: "park", retryAfterMs: 3_000, billed: "no" }],
    ["{ status: 429, retryAfterMs: 70 }", { code: "MODEL_RATE_LIMITED", next: "park", retryAfterMs: 70 }],
    ["{ status: 429, code: insufficient_quota }", { code: "MODEL_QUOTA_EXHAUSTED", next: "park" }],
    ["500", { code: "MODEL_SERVER_ERROR", next: "park", billed: "no" }],
    ["{ status: 503, retryAfter: 1 }", { code: "MODEL_SERVER_ERROR", next: "park", retryAfterMs: 1_000 }],
    ["401", { code: "MODEL_KEY_REFUSED", next: "park" }],
    ["403", { code: "MODEL_KEY_REFUSED", next: "park" }],
    ["{ status: 404, code: model_not_found }", { code: "MODEL_NOT_FOUND", next: "park" }],
    ["{ status: 400, code: context_length_exceeded }", { code: "MODEL_CONTEXT_EXCEEDED", next: "fail" }],
    ["{ status: 400, message: 'maximum context length is 8' }", { code: "MODEL_CONTEXT_EXCEEDED", next: "fail" }],
    ["{ status: 400, code: content_filter }", { code: "MODEL_REFUSED", next: "fail" }],
    ["422", { code: "MODEL_REQUEST_REFUSED", next: "fail" }],
    ["malformed", { code: "MODEL_REPLY_MALFORMED", next: "park", billed: "unknown" }],
    ["html", { code: "MODEL_REPLY_HTML", next: "park", billed: "no" }],
    ["{ cut: 10 }", { code: "MODEL_CONNECTION_CUT", next: "park", billed: "unknown" }],
    ["reset", { code: "MODEL_UNREACHABLE", next: "park", billed: "unknown" }],
    ["hang", { code: "MODEL_TIMEOUT", next: "park", billed: "unknown" }],
    ["{ huge: 300000 }", { code: "MODEL_REPLY_TOO_LARGE", next: "fail", billed: "unknown" }],
  ];

  for (const [name, how] of ways) {
    it.each(faults)(`${name}: %s`, async (fault, expected) => {
      const { url, requests } = await serve(`default: { reply: a reply of some length, fault: ${fault} }`);
      const short = client(url, { timeoutMs: fault === "hang" ? 150 : 20_000, maxReplyBytes: 200_000 });
      expect(await failureOf(short.complete(ask("x"), how))).toMatchObject(expected);
      expect(requests()).toHaveLength(1);
    });
  }

  it("a reply far beyond the limit is refused without reading it to its end", async () => {
    const { url } = await serve("default: { fault: { huge: 500000000 } }");
    const before = process.memoryUsage().rss;
    for (const [, how] of ways) {
      expect((await failureOf(client(url).complete(ask("x"), how))).code).toBe("MODEL_REPLY_TOO_LARGE");
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  it.each(["declares its size", "hides its size by compression"])(
    "a reply that is too large and %s is refused",
    async (how) => {
      const body = JSON.stringify({ choices: [{ message: { content: "x".repeat(50_000) }, finish_reason: "stop" }] });
      const sent = how === "declares its size" ? Buffer.from(body) : gzipSync(body);
      const url = await serveRaw((_, response) => {
        const encoding = sent.length < body.length ? { "content-encoding": "gzip" } : {};
        response.writeHead(200, { "content-type": "application/json", "content-length": sent.length, ...encoding });
        response.end(sent);
      });
      expect((await failureOf(client(url, { maxReplyBytes: 40_000 }).complete(ask("x")))).code).toBe(
        "MODEL_REPLY_TOO_LARGE",
      );
      await expect(client(url, { maxReplyBytes: 60_000 }).complete(ask("x"))).resolves.toMatchObject({
        finishReason: "stop",
      });
    },
  );

  it.each(ways)("a reply that is still arriving at the time limit is a timeout (%s)", async (_, how) => {
    const url = await serveRaw((_request, response) => {
      response.writeHead(200, { "content-type": how.onDelta ? "text/event-stream" : "application/json" });
      const chunk = JSON.stringify({ choices: [{ index: 0, delta: { content: "x" } }] });
      const timer = setInterval(() => response.write(how.onDelta ? `data: ${chunk}\n\n` : " "), 20);
      response.on("close", () => clearInterval(timer));
    });
    expect((await failureOf(client(url, { timeoutMs: 200 }).complete(ask("x"), how))).code).toBe("MODEL_TIMEOUT");
  });

  it("an error in the middle of a stream is a server error that may be billed", async () => {
    const url = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"error":{"message":"overloaded","type":"server_error","code":null}}\n\n');
    });
    const failure = await failureOf(client(url).complete(ask("x"), { onDelta: () => undefined }));
    expect(failure).toMatchObject({ code: "MODEL_SERVER_ERROR", next: "park", billed: "unknown" });
  });

  it("an answer of another shape, or one that does not stream, is malformed", async () => {
    const url = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"choices":"none"}');
    });
    expect((await failureOf(client(url).complete(ask("x")))).code).toBe("MODEL_REPLY_MALFORMED");
    const streamed = client(url).complete(ask("x"), { onDelta: () => undefined });
    expect((await failureOf(streamed)).code).toBe("MODEL_REPLY_MALFORMED");
  });

  it("a web page with an error status does not fill the message", async () => {
    const url = await serveRaw((_, response) => {
      response.writeHead(502, { "content-type": "text/html" });
      response.end(`<html>${"<p>Bad gateway</p>".repeat(5_000)}</html>`);
    });
    const failure = await failureOf(client(url).complete(ask("x")));
    expect(failure.code).toBe("MODEL_SERVER_ERROR");
    expect(failure.message.length).toBeLessThan(300);
  });

  it("a server that does not listen is unreachable, and nothing is billed", async () => {
    const gone = await serve("default: { reply: x }");
    await gone.close();
    open.length = 0;
    const failure = await failureOf(client(gone.url).complete(ask("x")));
    expect(failure).toMatchObject({ code: "MODEL_UNREACHABLE", next: "park", billed: "no" });
    expect(failure.message).toContain(gone.url);
    expect(failure.message).toContain("ECONNREFUSED");
  });

  describe("a call whose connection failed", () => {
    /** Accepts connections and answers no handshake. `ends`: closes each of them. */
    async function serveNoHandshake(ends: boolean): Promise<{ readonly url: string; readonly met: Promise<void> }> {
      const met = Promise.withResolvers<void>();
      const sockets: Socket[] = [];
      const server = createTcpServer((socket) => {
        sockets.push(socket.on("error", () => undefined));
        socket.once("data", () => {
          met.resolve();
          if (ends) socket.destroy();
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      open.push({
        close() {
          for (const socket of sockets) socket.destroy();
          server.close();
        },
      });
      return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, met: met.promise };
    }

    it.each(ways)("is not billed if the host has no address (%s)", async (_, how) => {
      const failure = await failureOf(client("http://nowhere.invalid/v1").complete(ask("x"), how));
      expect(failure).toMatchObject({ code: "MODEL_UNREACHABLE", billed: "no" });
    });

    it.each(ways)("is not billed if the handshake fails (%s)", async (_, how) => {
      const { url } = await serveNoHandshake(true);
      const failure = await failureOf(client(url).complete(ask("x"), how));
      expect(failure).toMatchObject({ code: "MODEL_UNREACHABLE", billed: "no" });
    });

    it("is not billed if the caller aborts it during the handshake", async () => {
      const { url, met } = await serveNoHandshake(false);
      const stop = new AbortController();
      const call = failureOf(client(url).complete(ask("x"), { signal: stop.signal }));
      await met;
      stop.abort();
      expect(await call).toMatchObject({ code: "MODEL_ABORTED", billed: "no" });
    });

    it("is not billed if its time is over during the handshake", async () => {
      const { url } = await serveNoHandshake(false);
      const failure = await failureOf(client(url, { timeoutMs: 300 }).complete(ask("x")));
      expect(failure).toMatchObject({ code: "MODEL_UNREACHABLE", billed: "no" });
      expect(failure.message).toContain("300 ms");
    });

    it("may be billed if the connection broke after the request was written", async () => {
      const url = await serveRaw((request) => void request.socket.destroy());
      const failure = await failureOf(client(url).complete(ask("x")));
      expect(failure).toMatchObject({ billed: "unknown" });
    });

    it("may be billed if the answer is not HTTP", async () => {
      const url = await serveRaw((request) => void request.socket.end("what?\r\n\r\n"));
      const failure = await failureOf(client(url).complete(ask("x")));
      expect(failure).toMatchObject({ billed: "unknown" });
    });
  });

  it.each(ways)("a call that its caller aborts may be billed only if it was sent (%s)", async (_, how) => {
    const { url, requests } = await serve("default: { reply: x, delay: 10s }");
    const stop = new AbortController();
    const call = failureOf(client(url).complete(ask("x"), { ...how, signal: stop.signal }));
    while (requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    expect(await call).toMatchObject({ code: "MODEL_ABORTED", billed: "unknown" });
    const late = failureOf(client(url).complete(ask("x"), { ...how, signal: stop.signal }));
    expect(await late).toMatchObject({ code: "MODEL_ABORTED", billed: "no" });
    expect(requests()).toHaveLength(1);
  });

  it.each(ways)("a call aborted while it waits for its slot is not sent, so not billed (%s)", async (_, how) => {
    const { url, requests } = await serve("default: { reply: x }");
    const stop = new AbortController();
    const slot: ModelSlot = {
      ...noLimit,
      async begin(signal) {
        stop.abort(new Error("drained"));
        signal?.throwIfAborted();
      },
    };
    const call = failureOf(client(url).complete(ask("x"), { ...how, slot, signal: stop.signal }));
    expect(await call).toMatchObject({ code: "MODEL_ABORTED", billed: "no" });
    expect(requests()).toHaveLength(0);
  });

  it.each(ways)("the time limit of a call starts when it leaves, after any wait for its slot (%s)", async (_, how) => {
    const { url } = await serve("default: { reply: x, delay: 10ms }");
    const begin = () => new Promise<void>((resolve) => setTimeout(resolve, 1_200));
    const slot: ModelSlot = { ...noLimit, begin };
    const reply = client(url, { timeoutMs: 1_000 }).complete(ask("x"), { ...how, slot });
    expect(await reply).toMatchObject({ text: "x" });
    const late = await serve("default: { reply: x, delay: 10s }");
    const failure = failureOf(client(late.url, { timeoutMs: 300 }).complete(ask("x"), { ...how, slot }));
    expect(await failure).toMatchObject({ code: "MODEL_TIMEOUT" });
  });

  it.each(ways)(
    "a process that was paused beyond the time limit of its call reads the reply first (%s)",
    async (_, how) => {
      const { url, requests } = await serve("default: { reply: x, delay: 20ms }");
      const reply = client(url, { timeoutMs: 1_000 }).complete(ask("x"), how);
      while (requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
      expect(await reply).toMatchObject({ text: "x" });
    },
  );

  it("a complete reply is returned even after an abort or a timeout (I3)", async () => {
    const { url } = await serve("default: { reply: whole }");
    const stop = new AbortController();
    const given = { ...noLimit, arrived: () => stop.abort() };
    expect(await client(url).complete(ask("x"), { slot: given, signal: stop.signal })).toMatchObject({ text: "whole" });
    const slow = {
      ...noLimit,
      arrived() {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
      },
    };
    expect(await client(url, { timeoutMs: 1_000 }).complete(ask("x"), { slot: slow })).toMatchObject({ text: "whole" });
  });

  it("each request states its own time limit, not that of the library", async () => {
    const told: unknown[] = [];
    const url = await serveRaw((request, response) => {
      told.push(request.headers["x-stainless-timeout"]);
      response.writeHead(500).end();
    });
    await failureOf(client(url, { timeoutMs: 90_000 }).complete(ask("x")));
    expect(told).toEqual(["90"]);
  });

  const event = (finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "half" }, finish_reason }] })}\n\n`;

  it("a stream aborted in the middle does not count as finished", async () => {
    const url = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event(null));
    });
    const stop = new AbortController();
    const call = client(url).complete(ask("x"), { signal: stop.signal, onDelta: () => stop.abort() });
    expect((await failureOf(call)).code).toBe("MODEL_ABORTED");
  });

  it.each(["cut", "given up"])("a stream %s after its finish reason is a reply without usage", async (how) => {
    const url = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event("stop"));
      if (how === "cut") setTimeout(() => response.destroy(), 20);
    });
    const stop = new AbortController();
    const onDelta = () => {
      if (how === "given up") stop.abort();
    };
    const reply = await client(url).complete(ask("x"), { signal: stop.signal, onDelta });
    expect(reply).toMatchObject({ text: "half", finishReason: "stop", usage: { estimated: true } });
  });

  it("an error in our own onDelta stays unchanged", async () => {
    const { url } = await serve("default: { reply: x }");
    const call = client(url).complete(ask("x"), {
      onDelta: () => {
        throw new TypeError("our bug");
      },
    });
    await expect(call).rejects.toThrow("our bug");
  });
});

describe("a reply without readable content", () => {
  it.each(["empty", "'null'", "blank", "tool-calls", "reasoning"])(
    "of kind %s is an empty reply with its usage",
    async (fault) => {
      const { url } = await serve(`default: { fault: ${fault}, usage: { prompt: 9, completion: 4 } }`);
      for (const [, how] of ways) {
        const reply = await client(url).complete(ask("x"), how);
        expect(reply.text.trim()).toBe("");
        if (fault !== "empty" || how.onDelta === undefined) {
          expect(reply.usage).toMatchObject({ promptTokens: 9, completionTokens: 4, estimated: false });
        }
      }
    },
  );
});

describe("the reasoning of a model", () => {
  it.each([
    ["default: { reply: '<think>hm</think>Points: 7' }", "hm"],
    ["default: { reply: '</think>Points: 7' }", undefined],
    ["default: { reply: 'Points: 7', reasoning: I weigh it }", "I weigh it"],
    ["default: { reply: '<thinking>hm</thinking>Points: 7', reasoning: I weigh it }", "I weigh it\n\nhm"],
  ])("is separate from its answer: %s", async (script, reasoning) => {
    const { url } = await serve(script);
    for (const [, how] of ways) {
      const reply = await client(url).complete(ask("x"), how);
      expect([reply.text, reply.reasoning]).toEqual(["Points: 7", reasoning]);
    }
  });

  it("is found in lists of parts and in other fields, and unusual fields do not spoil a reply", async () => {
    const answers = [
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "Yes" },
        ],
      },
      { content: "Yes", reasoning: "hm" },
      { content: "Yes", reasoning_details: [{ type: "reasoning.text", text: "hm" }] },
    ];
    for (const message of answers) {
      const url = await serveBody(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
      expect(await client(url).complete(ask("x"))).toMatchObject({ text: "Yes", reasoning: "hm" });
    }
    const odd = { content: "Yes", reasoning: 7, tool_calls: "none", reasoning_content: { x: 1 } };
    const url = await serveBody(JSON.stringify({ choices: [{ message: odd, finish_reason: "stop" }] }));
    expect(await client(url).complete(ask("x"))).toMatchObject({ text: "Yes" });
  });
});

describe("an error status of the endpoint", () => {
  it.each([
    [
      400,
      { message: "Your credit balance is too low", type: "invalid_request_error" },
      "MODEL_QUOTA_EXHAUSTED",
      "park",
    ],
    [403, { message: "You exceeded your current quota" }, "MODEL_QUOTA_EXHAUSTED", "park"],
    [400, { message: "API key not valid. Please pass a valid one." }, "MODEL_KEY_REFUSED", "park"],
    [404, { message: "The model `x` does not exist", code: "model_not_found" }, "MODEL_NOT_FOUND", "park"],
    [405, { message: "Method Not Allowed" }, "MODEL_NOT_FOUND", "park"],
    [529, { message: "Overloaded", type: "overloaded_error" }, "MODEL_RATE_LIMITED", "park"],
    [504, { message: "upstream" }, "MODEL_SERVER_ERROR", "park"],
    [418, { message: "tea" }, "MODEL_SERVER_ERROR", "park"],
    [400, { message: "temperature is out of range" }, "MODEL_REQUEST_REFUSED", "fail"],
    [422, { message: "prompt is too long: 9 tokens" }, "MODEL_CONTEXT_EXCEEDED", "fail"],
    [413, { message: "big" }, "MODEL_CONTEXT_EXCEEDED", "fail"],
    [400, { message: "filtered", code: "content_filter" }, "MODEL_REFUSED", "fail"],
    [200, { message: "Rate limit exceeded", code: 429 }, "MODEL_RATE_LIMITED", "park"],
    [200, { message: "Upstream error" }, "MODEL_SERVER_ERROR", "park"],
    [200, { message: "too large a context window", code: 400 }, "MODEL_CONTEXT_EXCEEDED", "fail"],
  ])(
    "is classified as trouble of the endpoint or as a problem of the request: %i %j",
    async (status, error, code, next) => {
      const url = await serveBody(JSON.stringify({ error }), { status });
      expect(await failureOf(client(url).complete(ask("x")))).toMatchObject({ code, next });
    },
  );

  it("with a web page comes from a proxy, even if the status concerns the request", async () => {
    const url = await serveBody("<html>Bad Request</html>", { status: 400, contentType: "text/html" });
    expect(await failureOf(client(url).complete(ask("x")))).toMatchObject({ code: "MODEL_REPLY_HTML", next: "park" });
  });

  it("gives a one-line reason for the waiting run", async () => {
    const url = await serveBody(JSON.stringify({ error: { message: "slow\ndown" } }), { status: 429 });
    expect((await failureOf(client(url).complete(ask("x")))).reason).toBe("429 slow down");
  });
});
