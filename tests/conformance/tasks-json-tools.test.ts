/** Workflows of tasks that call functions: a model that calls tools, a real tool server on loopback, on all backends. */
import { startToolServer, type ToolServer } from "@markmill/tools/testing-tool-server";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill } from "../support/mill.ts";
import { replayRun } from "../support/store.ts";
import { fixture, task, tasksFile } from "../support/tasks-json.ts";

const script = `
rules:
  - { when: { pattern: "high is the water at (?<place>\\\\w+)" }, calls: [{ name: gauge, arguments: { place: "{{place}} & Co", unit: cm } }] }
  - { when: { text: "Add 312 and 45" }, calls: [{ name: tide_calculator, arguments: { high: 312, low: 45 } }] }
  - { when: { text: "twice" }, calls: [{ name: gauge, arguments: { place: a, unit: cm } }, { name: gauge, arguments: { place: b, unit: m } }] }
  - { when: { text: "invent" }, calls: [{ name: rm_rf, arguments: {} }] }
  - { when: { text: "unfit" }, calls: [{ name: gauge, arguments: { place: 7 } }] }
  - { when: { text: "fail there" }, calls: [{ name: upset, arguments: {} }] }
  - { when: { pattern: "^echo (?<what>.*)$" }, reply: "{{what}}" }
default: { reply: "No tool needed." }
`;
const backends = await allBackends("functions of tasks");

describe.each(backends)("functions on the %s backend", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on all. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  let server: ToolServer;
  beforeAll(async () => {
    server = await startToolServer();
    mill = await startMill({ backend, script, environment: { TOOL_ALLOW: server.address, API_KEY: "a-key-of-ours" } });
  });
  afterAll(async () => {
    await mill.close();
    await server.close();
  });

  const gauge = (more: object = {}) => ({
    name: "gauge",
    description: "Reads a gauge.",
    mode: "http_request",
    method: "POST",
    url: `${server.url}/gauge`,
    body: { place: "", unit: "" },
    ...more,
  });
  const file = (prompt: string, operator = "function_calling", tools: readonly object[] = [gauge()]) =>
    tasksFile({
      config: { custom_tools: [...tools] },
      tasks: [{ ...task("call", prompt), operator }, task("rescue", "echo rescued")],
      steps: [
        { source: "call", target: "__end", fallback: "rescue" },
        { source: "rescue", target: "__end" },
      ],
    });

  once(
    "the result is the tool's result, places of the url are filled, and other values of a GET go into its query",
    async () => {
      const files = Object.fromEntries(
        Object.entries(fixture("http-tool")).map(([name, text]) => [
          name,
          text.replace("http://127.0.0.1:1", server.url),
        ]),
      );
      const run = await mill.run(files, { variables: { __input: "Husum" } });
      const url = "/gauges/Husum%20%26%20Co?unit=cm";
      expect(run).toMatchObject({
        status: "success",
        result: JSON.stringify({ method: "GET", url, body: "" }),
        spent: { steps: 1 },
      });
      const request = server.requests().find((one) => one.url === url);
      expect(request?.headers).toMatchObject({ accept: "text/plain" });
      // Quirk 13: an address of the file gets none of our keys.
      expect(JSON.stringify(request)).not.toContain("a-key-of-ours");
      expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
    },
  );

  it("all calls of one reply are performed, and their results are lines in the order of the calls", async () => {
    const run = await mill.run(file("twice"));
    const bodies = (run.result ?? "").split("\n").map((line) => (JSON.parse(line) as { body: string }).body);
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
      { place: "a", unit: "cm" },
      { place: "b", unit: "m" },
    ]);
    expect(run).toMatchObject({ status: "success", hits: { call: 1 } });
  });

  once("in mode raw the call is the result, and no tool runs", async () => {
    const run = await mill.run(fixture("custom-tool"));
    expect(run.status).toBe("success");
    expect(JSON.parse(run.result ?? "")).toEqual({ name: "tide_calculator", arguments: { high: 312, low: 45 } });
    const before = server.requests().length;
    const several = await mill.run(file("twice", "function_calling_raw"));
    expect(JSON.parse(several.result ?? "")).toMatchObject([{ name: "gauge" }, { name: "gauge" }]);
    expect(server.requests().length).toBe(before);
  });

  once.each([
    ["no call", "just talk", "TOOL_NOT_CALLED"],
    ["a tool that there is not", "invent", "TOOL_UNKNOWN"],
    ["arguments that do not fit", "unfit", "TOOL_ARGUMENTS"],
    ["a server that answers 500", "fail there", "TOOL_FAILED"],
  ])("%s fails the task, and its fallback is used", async (_title, prompt, code) => {
    const tools = [gauge(), gauge({ name: "upset", url: `${server.url}/500`, body: {} })];
    const run = await mill.run(file(prompt, "function_calling", tools));
    expect(run).toMatchObject({ status: "success", result: "rescued", hits: { call: 1, rescue: 1 } });
    expect(run.variables.ERROR).toContain(code);
  });
});

// The queue has no part in the choice of tools and in their requests.
describe.each(inject("thorough") ? backends : backends.slice(0, 1))("built-in tools on the %s backend", (backend) => {
  let mill: Mill;
  let server: ToolServer;
  beforeAll(async () => {
    server = await startToolServer({
      "/news": (request, response) => {
        const { q, hl, num } = JSON.parse(request.body) as { q: string; hl: string; num: number };
        response.end(
          JSON.stringify({ news: [{ title: `${q} ${hl} ${num}`, link: "https://example.org/", snippet: "s" }] }),
        );
      },
      "/search": (_, response) => response.end(JSON.stringify({ organic: [{ title: "Rotor & Sons", link: "l" }] })),
      "/quotes/XETRA/RTR": (_, response) => response.end('{"price":"42"}'),
    });
    mill = await startMill({
      backend,
      script: `
rules:
  - { when: { text: "Which company" }, reply: "Rotor & Sons" }
  - { when: { text: "Find out about" }, calls: [{ name: google_search_tool, arguments: { query: "Rotor" } }] }
  - { when: { text: "share of Rotor" }, calls: [{ name: stock_scraper, arguments: { exchange: XETRA, ticker: RTR } }] }
`,
      environment: {
        TOOL_ALLOW: server.address,
        TOOL_SERPER_KEY: "key",
        TOOL_SERPER_URL: server.url,
        TOOL_STOCK_URL: `${server.url}/quotes/{exchange}/{ticker}`,
      },
    });
  });
  afterAll(async () => {
    await mill.close();
    await server.close();
  });

  it("a search with a query text goes to the web, with its kind, language and number, and without a model", async () => {
    const run = await mill.run(fixture("web-search"));
    expect(run).toMatchObject({ status: "success", spent: { steps: 1, calls: 0 } });
    expect(run.result).toContain("storm tide 1962 de 3");
  });

  it("ALL offers exactly the tools that the operator has configured", async () => {
    const run = await mill.run(fixture("all-tools"));
    expect(run).toMatchObject({ status: "success", spent: { steps: 2 } });
    expect(run.result).toContain("Rotor & Sons");
    const body = JSON.stringify(mill.requests().at(-1)?.body);
    expect(body).toContain("google_search_tool");
    expect(body).toContain("stock_scraper");
    expect(body).not.toContain("ddg_searcher");
    expect(body).not.toContain("jina_web_scraper");
  });

  it("a stock price is requested at the operator's address", async () => {
    const run = await mill.run(fixture("ticker"), { variables: { __input: "Rotor" } });
    expect(run).toMatchObject({ status: "success", result: '{"price":"42"}' });
  });
});
