// Model tool calls, from the scripted model through the worker to a real tool server on loopback, on both queue backends.
import type { HttpTool, Node, Program, Tool } from "@markmill/engine";
import { startToolServer, type ToolServer } from "@markmill/tools/testing-tool-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import {
  beginToolCall,
  cancelRun,
  createRun,
  defaultTenant,
  forkRun,
  getHistory,
  getMessages,
  replayRun,
} from "../support/store.ts";
import { definition, program } from "./store-programs.ts";

const script = `
rules:
  - name: two at once
    when: { role: user, text: two cities }
    reply: I look.
    calls:
      - { name: weather, arguments: { city: Bonn } }
      - { name: slow, arguments: { city: "K\\u00f6ln {{n}}" } }
  - { name: then, when: { role: tool, pattern: 'city=(K[^&"]*)' }, reply: "It rains in {{1}}." }
  - { name: endless, when: { text: endless }, calls: [{ name: weather, arguments: { city: X } }] }
  - { name: endless results, when: { role: tool, text: city=X }, calls: [{ name: weather, arguments: { city: X } }] }
  - { name: invents, when: { role: user, text: invent }, calls: [{ name: rm_rf, arguments: {} }] }
  - { name: unfit, when: { role: user, text: unfit }, calls: [{ name: weather, arguments: { town: 7 } }] }
  - { name: no json, when: { role: user, text: no json }, calls: [{ name: weather, arguments: "{" }] }
  - { name: path, when: { role: user, pattern: 'visit (\\w+)' }, calls: [{ name: "bad_{{1}}", arguments: {} }] }
  - { name: hangs, when: { role: user, text: go hang }, calls: [{ name: hang, arguments: {} }] }
  - { name: floods, when: { role: user, text: go flood }, calls: [{ name: flood, arguments: {} }] }
  - { name: errs, when: { role: user, text: go err }, calls: [{ name: err, arguments: {} }] }
  - { name: late, when: { role: user, text: go late }, calls: [{ name: late, arguments: {} }] }
  - { name: leads, when: { role: user, text: go inside }, calls: [{ name: inside, arguments: {} }] }
  - { name: many, when: { role: user, text: many }, calls: [${Array.from({ length: 65 }, () => "{ name: weather, arguments: { city: Y } }").join(", ")}] }
  - { name: copes, when: { role: tool, pattern: '"code":"(\\w+)"' }, reply: "The tool said {{1}}." }
default: { reply: No tool needed. }
`;

const toolCallsOf = (runId: string) => mill.store.as(defaultTenant).runs.toolCalls(runId);
let mill: Mill;
let server: ToolServer;
let inside: ToolServer;
/** While set, the server answers a request of a path only after all these paths were requested. */
let meeting: { readonly awaited: Set<string>; readonly all: PromiseWithResolvers<void> } | null = null;
async function comeTogether(path: string): Promise<void> {
  meeting?.awaited.delete(path);
  if (meeting?.awaited.size === 0) meeting.all.resolve();
  await meeting?.all.promise;
}
/** The outcome of requests that get no answer. */
const stuck: string[] = [];
let tools: Record<string, Tool>;
beforeAll(async () => {
  inside = await startToolServer();
  server = await startToolServer({
    "/weather": ({ method, url, body }, response) =>
      void comeTogether("weather").then(() =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method, url, body })),
      ),
    "/slow": ({ url }, response) =>
      void comeTogether("slow").then(() => setTimeout(() => response.end(decodeURIComponent(url)), 300)),
    "/slowest": ({ url }, response) => setTimeout(() => response.end(decodeURIComponent(url)), 2_000),
    "/stuck": (_, response) => {
      stuck.push("open");
      response.on("close", () => stuck.push("closed"));
    },
    "/inside": (_, response) => response.writeHead(302, { location: `${inside.url}/secret` }).end(),
  });
  const city = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const tool = (path: string, schema: object = { type: "object" }): Tool =>
    ({
      kind: "http",
      method: "GET",
      url: server.url + path,
      description: path,
      schema,
      repeat: "safe",
      timeoutMs: 500,
    }) as Tool;
  tools = {
    weather: { ...tool("/weather", city), timeoutMs: 60_000 } as Tool,
    slow: { ...tool("/slow", city), timeoutMs: 60_000 } as Tool,
    hang: tool("/hang"),
    flood: tool("/flood"),
    err: tool("/500"),
    late: tool("/late"),
    inside: tool("/inside"),
    declared: { kind: "declared", description: "", schema: city },
  };
  mill = await startMill({ backend: "redis", script, environment: { TOOL_ALLOW: server.address } });
});
afterAll(async () => {
  await mill?.close();
  await server?.close();
  await inside?.close();
});

type Prompt = Extract<Node, { kind: "prompt" }>;

function prompting(text: string, more: Partial<Prompt> = {}): Program {
  const ask: Prompt = { kind: "prompt", text: { from: "literal", text }, tools: Object.keys(tools), ...more };
  const end = (outcome: "success" | "failed"): Node => ({ kind: "end", outcome });
  return program(
    {
      ask,
      good: end("success"),
      fell: { kind: "assign", value: { from: "literal", text: "fell" } },
      bad: end("success"),
    },
    [
      { from: "ask", to: "good", on: "ok" },
      { from: "ask", to: "fell", on: "fail" },
      { from: "fell", to: "bad", on: "ok" },
    ],
    { tools },
  );
}

async function run(main: Program) {
  const created = await createRun(mill.store, { definition: definition({ main }) });
  await mill.queues.enqueue(created.jobs);
  const ended = await mill.ended(created.runId);
  return { ...ended, tools: await toolCallsOf(created.runId) };
}

const failureOf = async (runId: string) => {
  const { entries } = await getHistory(mill.store.database, runId);
  return entries.flatMap((entry) =>
    entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event.failure.code] : [],
  );
};

describe("a prompt with tools", () => {
  it("performs tool calls together and returns their results in order, and the thread gets only the answer", async () => {
    const before = mill.requests().length;
    // Sequential calls would get no answer.
    meeting = { awaited: new Set(["weather", "slow"]), all: Promise.withResolvers() };
    const ended = await run(prompting("Weather of two cities?"));
    meeting = null;
    expect(ended).toMatchObject({ status: "success", spent: { calls: 2, steps: 1 } });
    expect(ended.result).toMatch(/^It rains in Köln \d\.$/);
    expect(
      ended.tools.map(({ name, state, callIndex, position, attempt }) => [name, state, callIndex, position, attempt]),
    ).toEqual([
      ["weather", "done", 0, 0, 1],
      ["slow", "done", 0, 1, 1],
    ]);
    expect(ended.tools[0]?.result).toContain("/weather?city=Bonn");
    expect(ended.tools.map(({ ms }) => ms)).toEqual([expect.any(Number), expect.any(Number)]);
    const [, second] = mill.requests().slice(before);
    expect(second?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(second?.messages[2]?.content).toContain("Bonn");
    const messages = await getMessages(mill.store.database, `${ended.id}/main/1`);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect((await replayRun(mill.store.database, mill.store.definitions, ended.id)).differences).toEqual([]);
  });

  it("is an ordinary prompt if the model calls no tool", async () => {
    expect(await run(prompting("Hello"))).toMatchObject({ status: "success", result: "No tool needed.", tools: [] });
  });

  it("must answer after its rounds of tools, and fails if the model does not", async () => {
    const ended = await run(prompting("endless", { rounds: 3 }));
    expect(ended).toMatchObject({ result: "fell", spent: { calls: 4 } });
    expect(await failureOf(ended.id)).toEqual(["TOOL_ROUNDS_EXHAUSTED"]);
    expect(ended.tools).toHaveLength(3);
    expect(mill.requests().at(-1)?.body).toMatchObject({ tool_choice: "none" });
  });

  it("fails before any tool runs if the model makes too many calls at a time", async () => {
    const ended = await run(prompting("many"));
    expect(await failureOf(ended.id)).toEqual(["TOOL_CALLS_TOO_MANY"]);
    expect(ended).toMatchObject({ result: "fell", tools: [] });
  });

  it.each([
    ["invent one", "TOOL_UNKNOWN"],
    ["unfit", "TOOL_ARGUMENTS"],
    ["no json", "TOOL_ARGUMENTS"],
    ["go hang", "TOOL_TIMEOUT"],
    ["go flood", "TOOL_TOO_LARGE"],
    ["go err", "TOOL_FAILED"],
    ["go late", "TOOL_TIMEOUT"],
    ["go inside", "TOOL_ADDRESS_REFUSED"],
  ])("%s: the model receives %s and continues, and a prompt that needs the tool's answer fails", async (text, code) => {
    const told = await run(prompting(text));
    expect(told).toMatchObject({ status: "success", result: `The tool said ${code}.`, spent: { calls: 2 } });
    expect(told.tools.map(({ state, failure }) => [state, failure?.code])).toEqual([["failed", code]]);
    const { entries } = await getHistory(mill.store.database, told.id);
    expect(JSON.stringify(entries)).toContain(`failed: ${code}`);
    const main = prompting(text, { toolUse: "outputs", retry: { attempts: 2, baseMs: 10, factor: 1, maxMs: 10 } });
    const needed = await run(main);
    // The model is asked once. Only the tool is retried, and only after a transient error.
    expect(needed).toMatchObject({ status: "success", result: "fell", spent: { calls: 1 } });
    const passing = ["TOOL_TIMEOUT", "go err"].some((one) => one === code || one === text);
    expect(needed.tools.map(({ attempt }) => attempt)).toEqual(passing ? [1, 2] : [1]);
    expect(new Set(await failureOf(needed.id))).toEqual(new Set([code]));
    expect(inside.requests()).toEqual([]);
  });
});

describe("tool calls as the answer of a prompt", () => {
  it("in mode outputs return the joined results of the tools, and fail without a call", async () => {
    const ended = await run(prompting("Weather of two cities?", { toolUse: "outputs" }));
    expect(ended.result?.split("\n")).toEqual([
      expect.stringContaining("Bonn"),
      expect.stringMatching(/^\/slow\?city=Köln/),
    ]);
    expect(ended.spent.calls).toBe(1);
    const none = await run(prompting("Hello", { toolUse: "outputs" }));
    expect([none.result, await failureOf(none.id)]).toEqual(["fell", ["TOOL_NOT_CALLED"]]);
  });

  it("in mode raw return the calls as the model wrote them, and no tool runs", async () => {
    const ended = await run(prompting("Weather of two cities?", { toolUse: "raw" }));
    expect(JSON.parse(ended.result ?? "")).toMatchObject([
      { name: "weather", arguments: { city: "Bonn" } },
      { name: "slow", arguments: { city: expect.stringContaining("Köln") } },
    ]);
    expect(ended.tools).toEqual([]);
    const one = await run(prompting("unfit", { toolUse: "raw" }));
    expect(one.result).toBe('{"name":"weather","arguments":{"town":7}}');
    const invented = await run(prompting("invent", { toolUse: "raw" }));
    expect(await failureOf(invented.id)).toEqual(["TOOL_UNKNOWN"]);
  });
});

describe("a tool call of the workflow", () => {
  const asking = (tool: string, given: string): Program =>
    program(
      {
        use: {
          kind: "tool",
          tool,
          arguments: { from: "literal", text: given },
          retry: { attempts: 2, baseMs: 10, factor: 1, maxMs: 10 },
        },
        end: { kind: "end", outcome: "success" },
      },
      [{ from: "use", to: "end", on: "ok" }],
      { tools },
    );

  it("returns its result, and its failure is the activity's failure", async () => {
    const ended = await run(asking("weather", '{"city":"Ulm"}'));
    expect(ended).toMatchObject({
      status: "success",
      result: expect.stringContaining("city=Ulm"),
      spent: { calls: 0 },
    });
    expect(ended.tools).toMatchObject([{ callIndex: -1, position: 0, state: "done" }]);
    const passing = await run(asking("err", "{}"));
    expect(passing).toMatchObject({ status: "failed", reason: { code: "TOOL_FAILED" } });
    expect(passing.tools.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, "failed"],
      [2, "failed"],
    ]);
    for (const [tool, given, code] of [
      ["absent", "{}", "TOOL_UNKNOWN"],
      ["weather", "{}", "TOOL_ARGUMENTS"],
      ["declared", '{"city":"x"}', "TOOL_NOT_CONFIGURED"],
    ] as const) {
      expect(await run(asking(tool, given))).toMatchObject({ status: "failed", reason: { code } });
    }
  });
});

it("a CodeMentor workflow lists its tools in its front matter", async () => {
  const tool = `{ description: Weather., url: "${server.url}/weather", schema: { type: object, properties: { city: { type: string } } }, repeat: safe }`;
  const slow = tool.replace("/weather", "/slow");
  const text = workflow('START --> PROMPT_A["Prompt: User A"] --> SUCCESS', { "User A": "Weather of two cities?" });
  const ended = await mill.run({
    "a.wf.md": `---\ntools: { weather: ${tool}, slow: ${slow}, search: serper }\n---\n${text}`,
  });
  expect(ended).toMatchObject({ status: "success", spent: { calls: 2 } });
  expect(ended.result).toMatch(/^It rains in Köln/);
  expect((await toolCallsOf(ended.id)).map(({ state }) => state)).toEqual(["done", "done"]);
});

it("a tool's result is reused for the same reply only, not for another reply at the same position", async () => {
  const ended = await run(prompting("Weather of two cities?"));
  const { rows } = await mill.store.database.calm.query<{ id: number; claim: number; hash: string }>(
    `update activities a set state = 'claimed' from calls c
     where a.run_id = $1 and a.node = 'ask' and c.activity_id = a.id and c.call_index = 0 returning a.id, a.claim, c.request_hash as hash`,
    [ended.id],
  );
  const [{ id, claim, hash } = { id: 0, claim: 0, hash: "" }] = rows;
  const key = { activityId: id, callIndex: 0, position: 0, attempt: 2, claim };
  const other = { name: "slow", arguments: "{}", safe: false, again: false };
  const root = { id: ended.id, rootId: ended.id, tenant: defaultTenant };
  const begin = (requestHash: string, retried: boolean) =>
    beginToolCall(mill.store.database, root, { ...key, requestHash }, { ...other, retried });
  expect(await begin(hash, false)).toMatchObject({ is: "done", result: expect.stringContaining("Bonn") });
  expect(await begin("another", false)).toEqual({ is: "begun" });
  // The outcome is unknown. A worker tried to start it and got no answer.
  expect(await begin("another", false)).toEqual({ is: "unknown" });
  expect(await begin("another", true)).toEqual({ is: "begun" });
});

it("a fork of a run whose prompt failed does not repeat tool calls that are requested again", async () => {
  const failing = async (path: string, repeat: "safe" | "never") => {
    const { repeat: _, ...weather } = tools.weather as HttpTool;
    const own: Tool = { ...weather, url: server.url + path, ...(repeat === "safe" ? { repeat } : {}) };
    const ask: Prompt = {
      kind: "prompt",
      text: { from: "literal", text: "endless" },
      tools: ["weather"],
      rounds: 1,
    };
    const end: Node = { kind: "end", outcome: "success" };
    const main = program({ ask, end }, [{ from: "ask", to: "end", on: "ok" }], { tools: { weather: own } });
    const first = await run(main);
    const before = mill.requests().length;
    const forked = await forkRun(mill.store, defaultTenant, { of: first.id, from: null });
    await mill.queues.enqueue(forked.jobs);
    const second = await mill.ended(forked.runId);
    const ends = [first, second].map(({ status, reason }) => [status, reason?.code]);
    expect(ends).toEqual(Array(2).fill(["failed", "TOOL_ROUNDS_EXHAUSTED"]));
    // The model gets a new request.
    expect(mill.requests().length - before).toBe(2);
    return server.requests(path).length;
  };
  expect(await failing("/failing/never", "never")).toBe(1);
  expect(await failing("/failing/safe", "safe")).toBe(2);
});

describe("a run that was cancelled during tool calls", () => {
  const asking = (own: Record<string, Tool>): Program => {
    const ask: Prompt = {
      kind: "prompt",
      text: { from: "literal", text: "Weather of two cities?" },
      tools: Object.keys(own),
    };
    const end: Node = { kind: "end", outcome: "success" };
    return program({ ask, end }, [{ from: "ask", to: "end", on: "ok" }], { tools: own });
  };
  const unsafe = (path: string, timeoutMs: number): Tool => {
    const { repeat: _, ...weather } = tools.weather as HttpTool;
    return { ...weather, url: server.url + path, timeoutMs };
  };
  async function start(own: Record<string, Tool>): Promise<string> {
    const created = await createRun(mill.store, { definition: definition({ main: asking(own) }) });
    await mill.queues.enqueue(created.jobs);
    return created.runId;
  }

  it("is forked with the results of its tools, and a tool that is not safe to repeat is not called again", async () => {
    const slow: Tool = { ...(tools.slow as HttpTool), url: `${server.url}/slowest` };
    const runId = await start({ weather: unsafe("/once", 5_000), slow });
    await expect.poll(async () => (await toolCallsOf(runId)).map(({ state }) => state)).toEqual(["done", "begun"]);
    await cancelRun(mill.store, runId, "enough");
    const forked = await forkRun(mill.store, defaultTenant, { of: runId, from: null });
    await mill.queues.enqueue(forked.jobs);
    expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", spent: { calls: 1 } });
    expect(server.requests("/once")).toHaveLength(1);
    expect((await toolCallsOf(forked.runId)).map(({ name, attempt, state }) => [name, attempt, state])).toEqual([
      ["weather", 0, "done"],
      // The open request is repeated as another attempt.
      ["slow", 2, "done"],
    ]);
  });

  it("stops its tools, and the outcome of one that is not safe to repeat stays unknown", async () => {
    const runId = await start({ weather: unsafe("/stuck", 60_000), slow: tools.slow as Tool });
    await expect.poll(() => server.requests("/stuck").length).toBe(1);
    expect(stuck).toEqual(["open"]);
    await cancelRun(mill.store, runId, "enough");
    await expect.poll(() => stuck).toEqual(["open", "closed"]);
    expect((await toolCallsOf(runId))[0]).toMatchObject({ name: "weather", state: "begun" });
  });
});

it("tool calls are deleted with their run", async () => {
  const ended = await run(prompting("Weather of two cities?"));
  expect(ended.tools).toHaveLength(2);
  const { runs } = mill.store.as(defaultTenant);
  const first = await runs.toolCallPage(ended.id, { limit: 1 });
  const second = await runs.toolCallPage(ended.id, { limit: 1, after: first.next ?? "" });
  expect([...first.items, ...second.items]).toEqual(ended.tools);
  expect(second.next).toBeNull();
  await mill.store.as(defaultTenant).runs.delete(ended.id);
  expect(await toolCallsOf(ended.id)).toEqual([]);
});
