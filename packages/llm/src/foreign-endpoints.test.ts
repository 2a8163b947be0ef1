// Servers on the loopback that violate the protocol as real endpoints do, called through the openai client.
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type BudgetPort, callModel } from "./call-model.ts";
import { builtInCatalogue } from "./model-catalogue.ts";
import { createModelClient, type ModelClientOptions } from "./model-client.ts";
import { ModelFailure } from "./model-failure.ts";
import type { ModelRequest } from "./model-request.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const json = "application/json";
const reply = (body: unknown, type = json, status = 200) =>
  listen((_, response) => {
    const sent = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": type }).end(sent);
  });

const client = (baseUrl: string, more: Partial<ModelClientOptions> = {}) =>
  createModelClient({ baseUrl, apiKey: "sk-test-key-of-mine", catalogue: builtInCatalogue, ...more });

const request: ModelRequest = { model: "scripted", messages: [{ role: "user", content: "Mark this." }], settings: {} };

async function failureOf(url: string): Promise<ModelFailure> {
  const error = await client(url)
    .complete(request)
    .catch((reason: unknown) => reason);
  if (error instanceof ModelFailure) return error;
  throw new Error(`no failure but ${JSON.stringify(error)}`);
}

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
const known = { billed: "known", spent: { promptTokens: 10, completionTokens: 4 } };

describe("an endpoint's error with status 200", () => {
  it.each([
    ["OpenRouter", { error: { code: 502, message: "Provider returned error", metadata: {} } }, "MODEL_SERVER_ERROR"],
    ["a text", { error: "model 'llama3' not found, try pulling it first" }, "MODEL_NOT_FOUND"],
    [
      "Gemini",
      [{ error: { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" } }],
      "MODEL_RATE_LIMITED",
    ],
    ["Anthropic", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "MODEL_RATE_LIMITED"],
    [
      "vLLM",
      { object: "error", message: "maximum context length is 10", type: "BadRequestError", code: 400 },
      "MODEL_CONTEXT_EXCEEDED",
    ],
    ["FastAPI", { detail: "Model is not loaded" }, "MODEL_SERVER_ERROR"],
    ["FastAPI's list", { detail: [{ loc: ["body"], msg: "field required" }] }, "MODEL_SERVER_ERROR"],
    [
      "Cloudflare",
      { success: false, errors: [{ code: 10_000, message: "Authentication error" }], result: null },
      "MODEL_SERVER_ERROR",
    ],
    ["AWS", { message: "Too many requests" }, "MODEL_RATE_LIMITED"],
    ["no choices", { error: { message: "Upstream died" }, choices: [] }, "MODEL_SERVER_ERROR"],
    ["null choices", { error: { message: "Upstream died" }, choices: null }, "MODEL_SERVER_ERROR"],
  ])("of %s is reported in its own words and not booked", async (_, body, code) => {
    const failure = await failureOf(await reply(body));
    expect(failure).toMatchObject({ code, billed: "no" });
    const words = JSON.stringify(body).match(/"(?:message|msg|detail|error)":"([^"]+)"/)?.[1] ?? "?";
    expect(failure.message).toContain(words);
  });

  it("that states its usage is booked with it", async () => {
    const failure = await failureOf(await reply({ error: { message: "Upstream died" }, usage }));
    expect(failure).toMatchObject({ code: "MODEL_SERVER_ERROR", ...known });
  });

  it("that is empty and comes with an answer is ignored", async () => {
    for (const error of [null, "", {}, false, []]) {
      const url = await reply({ error, choices: [{ message: { content: "7" }, finish_reason: "stop" }] });
      expect(await client(url).complete(request)).toMatchObject({ text: "7", finishReason: "stop" });
    }
  });
});

describe("the finish reason of a reply", () => {
  const ended = (finish_reason: unknown, more: object = {}) =>
    reply({
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Half of it" }, finish_reason, ...more }],
      usage,
    });

  it.each(["stop", "STOP", "eos", "end_turn", "stop_sequence", "eos_token", "COMPLETE", null, "", undefined])(
    "%s ends a complete reply",
    async (finish) => {
      expect(await client(await ended(finish)).complete(request)).toMatchObject({ text: "Half of it" });
    },
  );

  it.each(["length", "MAX_TOKENS", "max_tokens", "max_output_tokens", "model_length"])(
    "%s means a cut reply",
    async (finish) => {
      expect(await client(await ended(finish)).complete(request)).toMatchObject({ finishReason: "length" });
    },
  );

  it.each(["SAFETY", "content_filter", "RECITATION", "PROHIBITED_CONTENT", "refusal", "BLOCKLIST", "SPII"])(
    "%s is a refusal that quotes the provider's word and is booked",
    async (finish) => {
      const { outcome, settled } = await called(await ended(finish));
      expect(outcome).toMatchObject({
        kind: "failed",
        failure: { code: "MODEL_REFUSED" },
        booked: { promptTokens: 10 },
      });
      expect(outcome.kind === "failed" && outcome.failure.message).toContain(finish);
      expect(settled).toEqual([{ promptTokens: 10, completionTokens: 4, certain: true }]);
    },
  );

  it("the word error means a failure of the provider, in its own words and booked with its usage", async () => {
    const told = await failureOf(await ended("error", { error: { code: 502, message: "Upstream died" } }));
    expect(told).toMatchObject({ code: "MODEL_SERVER_ERROR", next: "park", ...known });
    expect(told.message).toContain("Upstream died");
    expect(told.message).not.toContain("Half of it");
    expect(await failureOf(await ended("error"))).toMatchObject({ code: "MODEL_SERVER_ERROR", ...known });
  });

  it.each(["MALFORMED_FUNCTION_CALL", "insufficient_system_resource", "abort", "something new"])(
    "%s is not an answer: it is named, booked and retried",
    async (finish) => {
      const failure = await failureOf(await ended(finish));
      expect(failure).toMatchObject({ code: "MODEL_REPLY_UNFINISHED", next: "retry", ...known });
      expect(failure.message).toContain(`"${finish}"`);
    },
  );

  it("the word error in a requested stream means a failure too", async () => {
    const events = [
      { choices: [{ index: 0, delta: { content: "Half" }, finish_reason: null }] },
      {
        choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 502, message: "Upstream died" } }],
        usage,
      },
    ];
    const url = await reply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), "text/event-stream");
    const failure = await client(url)
      .complete(request, { onDelta: () => undefined })
      .catch((reason: unknown) => reason);
    expect(failure).toMatchObject({ code: "MODEL_SERVER_ERROR", ...known });
  });
});

describe("a reply in a foreign or broken form", () => {
  const ollama = {
    model: "llama3",
    created_at: "2026-11-18T12:00:00Z",
    message: { role: "assistant", content: "7 points" },
    done: true,
    done_reason: "stop",
    prompt_eval_count: 10,
    eval_count: 4,
  };

  it.each([
    ["Ollama", json, ollama],
    [
      "Ollama",
      "application/x-ndjson",
      `${JSON.stringify({ ...ollama, done: false, eval_count: undefined, prompt_eval_count: undefined })}\n${JSON.stringify(ollama)}\n`,
    ],
    ["Ollama", json, { model: "llama3", response: "7 points", done: true, prompt_eval_count: 10, eval_count: 4 }],
    [
      "Anthropic",
      json,
      {
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "7" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 10, output_tokens: 4 },
      },
    ],
    [
      "Gemini",
      json,
      {
        candidates: [{ content: { parts: [{ text: "7" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4 },
      },
    ],
    [
      "Gemini",
      json,
      {
        promptFeedback: { blockReason: "SAFETY" },
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4 },
      },
    ],
    [
      "Responses",
      json,
      { object: "response", output: [{ type: "message" }], usage: { input_tokens: 10, output_tokens: 4 } },
    ],
    ["text completion", json, { object: "text_completion", choices: [{ text: "7", finish_reason: "stop" }], usage }],
  ])("is reported as a reply of %s (%s), holds the run and is booked", async (api, type, body) => {
    const failure = await failureOf(await reply(body, type));
    expect(failure).toMatchObject({ code: "MODEL_REPLY_FOREIGN", next: "hold", ...known });
    expect(failure.message).toContain(api);
    expect(failure.message).toContain("OPENAI_BASE_URL");
  });

  it("that is an unrequested event stream is reported as one and booked with its usage", async () => {
    const events = [
      { choices: [{ index: 0, delta: { content: "7 points" }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
    ];
    const stream = `: ping\n\n${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
    for (const text of [stream, stream.replaceAll("\n", "\r\n"), stream.slice(stream.indexOf("data:"))]) {
      // Servers that always stream do not always declare it.
      for (const type of ["text/event-stream", json]) {
        const failure = await failureOf(await reply(text, type));
        expect(failure).toMatchObject({ code: "MODEL_REPLY_FOREIGN", next: "hold", ...known });
        expect(failure.message).toContain("event stream");
      }
    }
  });

  it("that is an event stream with only an error is reported as that error, and not booked", async () => {
    const url = await reply(
      'event: error\ndata: {"error":{"message":"Upstream died","code":503}}\n\n',
      "text/event-stream; charset=utf-8",
    );
    const failure = await failureOf(url);
    expect(failure).toMatchObject({ code: "MODEL_SERVER_ERROR", billed: "no" });
    expect(failure.message).toContain("Upstream died");
  });

  it.each([
    ["is nested deeply", '{"choices":', "[".repeat(1_000_000), 200],
    ["is nested deeply and no success", '{"error":', "[".repeat(1_000_000), 500],
    ["has many parts", '{"choices":[{"message":{"content":[', `${"{},".repeat(30_000)}{}]}}]}`, 200],
  ])("that %s is not parsed, but reported by its form", async (_, before, rest, status) => {
    const { parse } = JSON;
    let longest = 0;
    JSON.parse = (text: string, ...more: never[]) => {
      longest = Math.max(longest, text.length);
      return parse(text, ...more);
    };
    try {
      const failure = await failureOf(await reply(before + rest, json, status));
      expect(failure.code).toBe(status === 200 ? "MODEL_REPLY_MALFORMED" : "MODEL_SERVER_ERROR");
      if (status === 200) expect(failure.message).toMatch(/nested more than 500 deep|more than 50000 values/);
    } finally {
      JSON.parse = parse;
    }
    expect(longest).toBeLessThan(10_000);
  });

  it("that is nested deeply is not parsed behind a redirect either", async () => {
    const goal = await reply(`{"choices":${"[".repeat(1_000_000)}`);
    const url = await listen((_, response) => void response.writeHead(307, { location: goal }).end());
    const asking = client(url);
    for (let times = 0; times < 2; times += 1) {
      const failure = await asking.complete(request).catch((reason: unknown) => reason);
      expect(failure).toMatchObject({
        code: "MODEL_REPLY_MALFORMED",
        message: expect.stringContaining("nested more than 500 deep"),
      });
    }
  });

  it("that is unknown keeps its first words in the message", async () => {
    const failure = await failureOf(await reply({ answer: "Seven points.", status: "weird" }));
    expect(failure).toMatchObject({ code: "MODEL_REPLY_MALFORMED", billed: "unknown" });
    expect(failure.message).toContain("Seven points.");
  });
});

describe("an endpoint that does not support schemas", () => {
  it("gets the schema in words from the second request on; the first is refused and not booked", async () => {
    const bodies: { response_format?: unknown; messages: { content: string }[] }[] = [];
    const keys: unknown[] = [];
    const url = await listen((asked, response) => {
      keys.push(asked.headers["idempotency-key"]);
      const pieces: Buffer[] = [];
      asked.on("data", (piece: Buffer) => pieces.push(piece));
      asked.on("end", () => {
        const body = JSON.parse(Buffer.concat(pieces).toString()) as (typeof bodies)[number];
        bodies.push(body);
        const refused = body.response_format !== undefined;
        const error = { error: { message: "response_format of type json_schema is not supported", code: 400 } };
        const answer = { choices: [{ message: { content: "{}" }, finish_reason: "stop" }] };
        response.writeHead(refused ? 400 : 200, { "content-type": json }).end(JSON.stringify(refused ? error : answer));
      });
    });
    const asking = client(url);
    const wanted = { ...request, schema: { name: "reply", schema: { type: "object" } } };
    const idempotencyKey = "k";
    const refused = await asking.complete(wanted, { idempotencyKey }).catch((reason: unknown) => reason);
    expect(refused).toMatchObject({ code: "MODEL_FORMAT_REFUSED", next: "retry", billed: "no" });
    expect(await asking.complete(wanted, { idempotencyKey })).toMatchObject({ text: "{}" });
    // An endpoint that honours the key must not repeat its refusal.
    expect(keys).toEqual(["k", "k-words"]);
    expect(bodies[1]?.response_format).toBeUndefined();
    expect(bodies[1]?.messages.at(-1)?.content).toContain('{"type":"object"}');
  });
});

describe("the charset of a model reply", () => {
  const said = { choices: [{ message: { content: "Größe: sehr schön" }, finish_reason: "stop" }] };
  it.each([
    ["iso-8859-1", "latin1"],
    ["ISO-8859-1", "latin1"],
    ['"iso-8859-15"', "latin1"],
    ["utf-16le", "utf16le"],
    ["utf-8", "utf8"],
  ] as const)("%s is decoded", async (charset, encoding) => {
    const url = await reply(Buffer.from(JSON.stringify(said), encoding), `application/json; charset=${charset}`);
    expect(await client(url).complete(request)).toMatchObject({ text: "Größe: sehr schön" });
  });

  it("is decoded in an error and in a stream", async () => {
    const error = Buffer.from(JSON.stringify({ error: { message: "Schlüssel ungültig" } }), "latin1");
    expect((await failureOf(await reply(error, "application/json;charset=iso-8859-1", 401))).message).toContain(
      "Schlüssel",
    );
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: "schön" }, finish_reason: "stop" }] })}\n\n`;
    const url = await reply(Buffer.from(event, "latin1"), "text/event-stream; charset=iso-8859-1");
    expect(await client(url).complete(request, { onDelta: () => undefined })).toMatchObject({ text: "schön" });
  });

  it("is named in the failure if it is unknown", async () => {
    const failure = await failureOf(await reply(said, "application/json; charset=klingon"));
    expect(failure.code).toBe("MODEL_REPLY_MALFORMED");
    expect(failure.message).toContain("klingon");
  });
});

describe("the API key of an endpoint", () => {
  it("is sent only in the chosen header", async () => {
    const headers: IncomingHttpHeaders[] = [];
    const paths: (string | undefined)[] = [];
    const base = await listen((asked, response) => {
      headers.push(asked.headers);
      paths.push(asked.url);
      const body = { choices: [{ message: { content: "ok" }, finish_reason: "stop" }] };
      response.writeHead(200, { "content-type": json }).end(JSON.stringify(body));
    });
    const azure = base.replace("/v1", "/openai/deployments/d?api-version=2024-10-21");
    await client(azure, { keyHeader: "api-key" }).complete(request);
    await client(base).complete(request);
    expect(paths).toEqual(["/openai/deployments/d/chat/completions?api-version=2024-10-21", "/v1/chat/completions"]);
    expect(headers.map((sent) => [sent["api-key"], sent.authorization])).toEqual([
      ["sk-test-key-of-mine", undefined],
      [undefined, "Bearer sk-test-key-of-mine"],
    ]);
  });
});

/** Makes a call through the budget and returns its outcome and settled spending. */
async function called(url: string) {
  const settled: object[] = [];
  const budget: BudgetPort = {
    reserve: async () => ({ ok: true }),
    settle: async (_, { promptTokens, completionTokens, certain }) => {
      settled.push({ promptTokens, completionTokens, certain });
    },
    release: async () => {
      settled.push({ released: true });
    },
  };
  const outcome = await callModel(
    {
      client: client(url),
      catalogue: builtInCatalogue,
      budget,
      ledger: { find: async () => undefined, record: async (_, { reply }) => reply },
      rate: { take: async () => ({ kind: "go", probe: null }), heard: async () => undefined },
    },
    { activityId: "1", attempt: 1, callIndex: 0, request },
  );
  return { outcome, settled };
}

describe("the budget after a failed call", () => {
  it("counts a failed reply's usage, nothing for an error without usage, and the worst case if the usage is unknown", async () => {
    const failed = await called(
      await reply({ choices: [{ message: { content: "" }, finish_reason: "error" }], usage }),
    );
    expect(failed.settled).toEqual([{ promptTokens: 10, completionTokens: 4, certain: true }]);
    expect(failed.outcome.booked).toMatchObject({
      calls: 1,
      promptTokens: 10,
      completionTokens: 4,
      nanodollars: 18_000,
    });
    const refused = await called(await reply({ error: { message: "no" } }));
    expect([refused.settled, refused.outcome.booked]).toEqual([[{ released: true }], null]);
    const unknown = await called(await reply({ answer: 1 }));
    expect(unknown.settled).toMatchObject([{ certain: false }]);
  });
});
