import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { formatFinding } from "./finding.ts";
import { parseScript } from "./script.ts";
import { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from "./scripted-server.ts";

const open: ScriptedModel[] = [];
afterEach(async () => {
  for (const model of open.splice(0)) await model.close();
});

async function serve(yaml: string, more: Partial<ScriptedModelOptions> = {}): Promise<ScriptedModel> {
  const reading = parseScript(yaml, "script.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  const model = await startScriptedModel({ script: reading.script, ...more });
  open.push(model);
  return model;
}

const official = (model: ScriptedModel, apiKey = "any") => new OpenAI({ baseURL: model.url, apiKey, maxRetries: 0 });
const at = (model: ScriptedModel, path: string) => new URL(path, model.url);

async function say(model: ScriptedModel, content: string, headers: Record<string, string> = {}): Promise<string> {
  const reply = await official(model).chat.completions.create(
    { model: "scripted", messages: [{ role: "user", content }] },
    { headers },
  );
  return reply.choices[0]?.message.content ?? "";
}

describe("the scripted model, called by the official client", () => {
  it("answers with computed usage", async () => {
    const model = await serve("default: { reply: four }");
    const reply = await official(model).chat.completions.create({
      model: "scripted",
      messages: [{ role: "user", content: "12345678" }],
    });
    expect(reply.usage).toEqual({ prompt_tokens: 6, completion_tokens: 1, total_tokens: 7 });
  });

  it("streams pieces, then the finish reason, then the usage if requested", async () => {
    const model = await serve(
      "default: { reply: this text is longer than a single piece, usage: { prompt: 2, completion: 3 } }",
    );
    const stream = await official(model).chat.completions.create({
      model: "scripted",
      messages: [{ role: "user", content: "x" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe(
      "this text is longer than a single piece",
    );
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
    });
  });

  it("reads content given in parts", async () => {
    const model = await serve("default: { reply: '{{prompt}}' }");
    const reply = await official(model).chat.completions.create({
      model: "scripted",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "one " },
            { type: "text", text: "two" },
          ],
        },
      ],
    });
    expect(reply.choices[0]?.message.content).toBe("one two");
  });

  it("gives equal texts equal vectors, and near vectors to texts that share words", async () => {
    const model = await serve("default: { reply: x }");
    const input = [
      "the cat sat on the mat",
      "the cat sat on a chair",
      "quarterly revenue fell",
      "the cat sat on the mat",
      "",
    ];
    const { data, usage } = await official(model).embeddings.create({ model: "scripted", input });
    const vectors = data.map(({ embedding }) => embedding);
    const [a = [], b = [], c = [], d = [], none = []] = vectors;
    const near = (x: number[], y: number[]) => x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
    expect(a).toHaveLength(256);
    expect(d).toEqual(a);
    expect(near(a, a)).toBeCloseTo(1);
    expect(near(none, none)).toBeCloseTo(1);
    expect(near(a, b)).toBeGreaterThan(near(a, c) + 0.3);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
    const plain = await official(model).embeddings.create({
      model: "m",
      input: "the cat",
      dimensions: 8,
      encoding_format: "float",
    });
    expect(plain.data[0]?.embedding).toHaveLength(8);
  });

  it("lists its models and its health", async () => {
    const model = await serve("rules: [{ when: { model: gpt-5 }, reply: x }]");
    const { data } = await official(model).models.list();
    expect(data.map(({ id }) => id)).toEqual(["scripted", "gpt-5"]);
    expect(await (await fetch(at(model, "/healthz"))).json()).toEqual({ status: "ok" });
  });

  it("refuses a request that no rule answers, and quotes the request", async () => {
    const model = await serve("rules: [{ name: greet, when: { text: hello }, reply: hi }]");
    await expect(say(model, "goodbye")).rejects.toMatchObject({
      status: 400,
      code: "script_unmatched",
      message: expect.stringMatching(
        /model scripted.*"goodbye".*"greet": the last message does not contain "hello".*default/s,
      ),
    });
    expect(model.requests()).toMatchObject([{ outcome: "unmatched", rule: undefined }]);
  });

  it("requires its key on every path except the health check", async () => {
    const model = await serve("default: { reply: x }", { apiKey: "right" });
    await expect(say(model, "x")).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    expect((await fetch(at(model, "/log"))).status).toBe(401);
    expect((await fetch(at(model, "/healthz"))).status).toBe(200);
    await expect(official(model, "right").models.list()).resolves.toBeDefined();
    expect(model.requests()).toEqual([]);
  });

  it("refuses invalid requests and unknown paths", async () => {
    const model = await serve("default: { reply: x }");
    const post = async (body: string) => {
      const response = await fetch(`${model.url}/chat/completions`, { method: "POST", body });
      return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
    };
    expect(await post("{")).toEqual([400, "invalid_json"]);
    expect(await post("null")).toEqual([400, "invalid_request"]);
    expect(await post('{"model":"m","messages":[]}')).toEqual([400, "invalid_request"]);
    expect((await fetch(`${model.url}/responses`, { method: "POST", body: "{}" })).status).toBe(404);
  });

  it("answers a request without a delay before an earlier one with a delay", async () => {
    const model = await serve("rules: [{ when: { text: slow }, reply: a, delay: 300ms }]\ndefault: { reply: b }");
    const answered: string[] = [];
    const asked = (text: string) => say(model, text).then(() => answered.push(text));
    await Promise.all([asked("slow"), asked("quick")]);
    expect(answered).toEqual(["quick", "slow"]);
  });

  it("sends the retry headers of the script", async () => {
    const model = await serve(
      "default: { fault: { status: 429, retryAfter: 'Sun, 01 Mar 2026 12:00:30 GMT', retryAfterMs: 5 } }",
    );
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x" }] });
    const { status, headers } = await fetch(`${model.url}/chat/completions`, { method: "POST", body });
    expect([status, headers.get("retry-after"), headers.get("retry-after-ms")]).toEqual([
      429,
      "Sun, 01 Mar 2026 12:00:30 GMT",
      "5",
    ]);
  });
});

describe("a sticky script", () => {
  const counting = "reply: ['first', 'second', 'third']";

  it("gives a repeated request its earlier reply, by its body", async () => {
    const model = await serve(`{ sticky: true, default: { ${counting} } }`);
    expect([await say(model, "a"), await say(model, "a"), await say(model, "b"), await say(model, "a")]).toEqual([
      "first",
      "first",
      "second",
      "first",
    ]);
  });

  it("uses the idempotency key if there is one", async () => {
    const model = await serve(`default: { sticky: true, ${counting} }`);
    const key = (value: string) => ({ "idempotency-key": value });
    expect([await say(model, "a", key("1")), await say(model, "a", key("2")), await say(model, "a", key("1"))]).toEqual(
      ["first", "second", "first"],
    );
  });

  it("does not repeat a fault", async () => {
    const model = await serve("{ sticky: true, rules: [{ times: 1, fault: 500 }, { reply: better }] }");
    await expect(say(model, "a")).rejects.toMatchObject({ status: 500 });
    expect(await say(model, "a")).toBe("better");
  });

  it("is not the default", async () => {
    const model = await serve(`default: { ${counting} }`);
    expect([await say(model, "a"), await say(model, "a")]).toEqual(["first", "second"]);
  });
});

describe("the log of the scripted model", () => {
  it("lists requests and the rules that answered, here and over HTTP, until it is cleared", async () => {
    const model = await serve("rules: [{ name: a, when: { text: a }, reply: A }, { name: b, fault: 500 }]");
    await say(model, "a");
    await say(model, "b").catch(() => undefined);
    const expected = [
      { number: 1, rule: "a", outcome: "reply", reply: "A", messages: [{ role: "user", content: "a" }], stream: false },
      { number: 2, rule: "b", outcome: "fault" },
    ];
    expect(model.requests()).toMatchObject(expected);
    expect(await (await fetch(at(model, "/log"))).json()).toMatchObject({ requests: expected });
    await fetch(at(model, "/log"), { method: "DELETE" });
    expect(model.requests()).toEqual([]);
    await say(model, "a");
    expect(model.requests()).toMatchObject([{ number: 3 }]);
  });
});

describe("starting and stopping the scripted model", () => {
  it("reports a port that is in use", async () => {
    const model = await serve("default: { reply: x }");
    const port = Number(new URL(model.url).port);
    await expect(serve("default: { reply: x }", { port })).rejects.toMatchObject({
      code: "SCRIPTED_PORT_IN_USE",
      message: expect.stringContaining(String(port)),
    });
  });

  it("closes at once, even with a request that hangs", async () => {
    const model = await serve("default: { fault: hang }");
    const hanging = say(model, "x").catch((error: unknown) => error);
    while (model.requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    open.length = 0;
    await model.close();
    expect(await hanging).toBeInstanceOf(Error);
    await expect(fetch(at(model, "/healthz"))).rejects.toThrow();
  });
});

describe("random faults of the scripted model", () => {
  const ask = (model: ScriptedModel) =>
    fetch(`${model.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "scripted", messages: [{ role: "user", content: "x" }] }),
      signal: AbortSignal.timeout(300),
    })
      .then(async (response) => void (await response.text()))
      .catch(() => undefined);
  const fates = async (yaml: string, times: number) => {
    const model = await serve(yaml);
    for (let i = 0; i < times; i++) await ask(model);
    return model.requests();
  };

  it("hit their share of requests, are the same for the same seed, and advance no counter", async () => {
    const script = (seed: number) =>
      `trouble: { share: 0.4, seed: ${seed}, kinds: [429, 503, html] }\ndefault: { reply: "{{n}}" }`;
    const [one, again, other] = [await fates(script(7), 200), await fates(script(7), 200), await fates(script(8), 200)];
    const names = (requests: typeof one) => requests.map(({ fault }) => fault ?? "");
    expect(names(again)).toEqual(names(one));
    expect(names(other)).not.toEqual(names(one));
    const served = one.filter((request) => request.served);
    expect(served.length).toBeGreaterThan(100);
    expect(served.length).toBeLessThan(140);
    expect(served.map(({ reply }) => reply)).toEqual(served.map((_, index) => String(index + 1)));
    expect(one.filter(({ billed }) => billed)).toHaveLength(served.length);
  });

  it("include every kind of fault, and the log shows which requests are billed", async () => {
    const requests = await fates("trouble: { share: 1, seed: 3 }\ndefault: { reply: never }", 120);
    expect(requests.every(({ served }) => !served)).toBe(true);
    const billed = new Map(requests.map(({ fault, billed }) => [fault, billed]));
    expect(Object.fromEntries(billed)).toEqual({
      ...Object.fromEntries(
        ["429", "429 insufficient_quota", "500", "502", "503", "529", "401", "403"].map((it) => [it, false]),
      ),
      html: false,
      ...Object.fromEntries(["reset", "reset-after-headers", "hang", "malformed", "cut"].map((it) => [it, true])),
    });
  }, 60_000);

  it("are checked like the rest of a script", () => {
    expect(parseScript("trouble: { share: 2 }\ndefault: { reply: x }", "s.yaml")).toMatchObject({ ok: false });
    expect(parseScript("trouble: { share: 1, kinds: [oops] }\ndefault: { reply: x }", "s.yaml")).toMatchObject({
      ok: false,
    });
  });
});
