// Tools of a real MCP server (the official library, over HTTP), called by a workflow file with the scripted model and the worker.
import { saying, startMcpServer, type TestingMcpServer } from "@markmill/tools/testing-mcp-server";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { defaultTenant, replayRun } from "../support/store.ts";

const script = `
rules:
  - { name: asks, when: { role: user, text: look up }, calls: [{ name: docs__look, arguments: { term: heap } }, { name: docs__look, arguments: { term: trie } }] }
  - { name: asks more, when: { role: tool, text: a trie is }, calls: [{ name: docs__look, arguments: { term: rope } }] }
  - { name: unfit, when: { role: user, text: unfit }, calls: [{ name: docs__look, arguments: { word: 7 } }] }
  - { name: hangs, when: { role: user, text: hang }, calls: [{ name: docs__hang, arguments: {} }] }
  - { name: floods, when: { role: user, text: flood }, calls: [{ name: docs__flood, arguments: {} }] }
  - { name: hidden, when: { role: user, text: hidden }, calls: [{ name: docs__hidden, arguments: {} }] }
  - { name: copes, when: { role: tool, pattern: '"code":"(\\w+)"' }, reply: "The tool said {{1}}." }
  - { name: done, when: { role: tool, pattern: 'a rope is (.+)' }, reply: "A rope is {{1}}" }
default: { reply: No tool needed. }
`;
const look = {
  description: "Looks a term up.",
  inputSchema: {
    type: "object" as const,
    properties: { term: { type: "string" } },
    required: ["term"],
    additionalProperties: false,
  },
  call: ({ term }: Readonly<Record<string, unknown>>) => saying(`a ${String(term)} is a structure`),
};
const given = {
  look,
  hang: { call: () => new Promise<never>(() => undefined) },
  flood: { call: () => saying("x".repeat(6_000_000)) },
  hidden: { call: () => saying("never allowed") },
};

let server: TestingMcpServer;
let mill: Mill;
beforeAll(async () => {
  server = await startMcpServer(given);
  mill = await startMill({ backend: "postgres", script, environment: { TOOL_ALLOW: server.address } });
});
afterAll(async () => {
  await mill?.close();
  await server?.close();
});
beforeEach(() => {
  server.tools.clear();
  for (const [name, tool] of Object.entries(given)) server.tools.set(name, tool);
});

const toolCallsOf = (runId: string) => mill.store.as(defaultTenant).runs.toolCalls(runId);
const file = (text: string, tools: string, url = server.url) =>
  `---\nmcp: { docs: { url: "${url}", tools: [${tools}] } }\n---\n${workflow(
    'START --> PROMPT_A["Prompt: User A"] --> SUCCESS\n PROMPT_A -->|FALSE| FAILED',
    { "User A": text },
  )}`;
async function run(text: string, tools = "look", url?: string) {
  const before = { requests: mill.requests().length, calls: server.calls().length, listings: server.listings() };
  const ended = await mill.run({ "a.wf.md": file(text, tools, url) });
  expect((await replayRun(mill.store.database, mill.store.definitions, ended.id)).differences).toEqual([]);
  return {
    ...ended,
    rows: await toolCallsOf(ended.id),
    requests: mill.requests().slice(before.requests),
    called: server.calls().slice(before.calls),
    listings: server.listings() - before.listings,
  };
}

it("MCP tools are listed once, offered with their server's texts, called and answered, round by round", async () => {
  const { result, status, rows, requests, called, listings } = await run("Please look up.");
  expect([status, result]).toEqual(["success", "A rope is a structure"]);
  expect(listings).toBe(1);
  expect(called.map(({ values }) => values.term).sort()).toEqual(["heap", "rope", "trie"]);
  expect(rows.map(({ name, callIndex, state }) => [name, callIndex, state])).toEqual([
    ["docs: tools/list", -2, "done"],
    ["docs__look", 0, "done"],
    ["docs__look", 0, "done"],
    ["docs__look", 1, "done"],
  ]);
  expect(requests).toHaveLength(3);
  const offered = JSON.stringify(requests.map((request) => request));
  expect(offered).toContain("Looks a term up.");
  expect(offered).not.toContain("hidden");
});

it("MCP tools stay as they were when the activity began, whatever the server reports later", async () => {
  server.tools.set("look", {
    ...look,
    call(values) {
      if (values.term === "trie") server.tools.delete("look");
      return look.call(values);
    },
  });
  // The tool no longer exists at the third call. The model receives that failure.
  const { result, rows, listings, requests } = await run("Please look up.");
  expect(listings).toBe(1);
  expect(result).toBe("The tool said TOOL_FAILED.");
  expect(rows.at(-1)).toMatchObject({ state: "failed", failure: { code: "TOOL_FAILED" } });
  expect(requests).toHaveLength(3);
});

it.each([
  ["unfit", "look", "TOOL_ARGUMENTS", 0],
  ["hang", "{ name: hang, timeout: 300ms }", "TOOL_TIMEOUT", 1],
  ["flood", "{ name: flood, timeout: 20s }", "TOOL_TOO_LARGE", 1],
  ["hidden", "look", "TOOL_UNKNOWN", 0],
])("%s: the model receives the error, and no call is repeated", async (text, tools, code, asked) => {
  const { result, status, called } = await run(`Do what is ${text}.`, tools);
  expect([status, result]).toEqual(["success", `The tool said ${code}.`]);
  expect(called).toHaveLength(asked);
});

it("an activity fails before a paid model call if its server lacks the tool or has a refused address", async () => {
  const missing = await run("Please look up.", "lok");
  expect(missing).toMatchObject({ status: "failed", requests: [] });
  expect(missing.rows.at(-1)?.failure).toMatchObject({
    code: "TOOL_NOT_CONFIGURED",
    message: expect.stringMatching(/it has: look/),
  });
  const refused = await run("Please look up.", "look", "http://127.0.0.1:1/mcp");
  expect(refused).toMatchObject({ status: "failed", requests: [] });
  expect(refused.rows.at(-1)?.failure).toMatchObject({ code: "TOOL_ADDRESS_REFUSED" });
});
