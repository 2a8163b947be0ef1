import type { Tool } from "@markmill/engine";
import type { ToolCallBegin } from "@markmill/store/machine";
import { createToolBox } from "@markmill/tools";
import { saying, startMcpServer } from "@markmill/tools/testing-mcp-server";
import { afterEach, expect, it } from "vitest";
import { listMcpTools } from "./list-mcp-tools.ts";
import { performToolCalls, type ToolPorts } from "./perform-tools.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
const { signal } = new AbortController();
const off = { serper: null, duckduckgo: null, jina: null, browserless: null, scraper: null, stock: null };
const strict = { type: "object" as const, properties: { n: { type: "integer" } }, required: ["n"] };

/** Rows as the store keeps them, in memory: ended calls are found again. */
async function world(offered: readonly string[] = ["act"]) {
  const server = await startMcpServer({
    act: { description: "As it was.", inputSchema: strict, call: ({ n }) => saying(`did ${String(n)}`) },
    odd: { inputSchema: { type: "object", $ref: "#/nowhere" }, call: () => saying("odd") },
  });
  const box = createToolBox({
    allow: [{ network: "127.0.0.1", bits: 32, port: null }],
    secrets: {},
    builtins: off,
    timeoutMs: 5_000,
    maxTimeoutMs: 300_000,
    maxBytes: 65_536,
  });
  open.push(server, box);
  const rows = new Map<string, ToolCallBegin>();
  const tool = (name: string): Tool => ({
    kind: "mcp",
    server: "s",
    tool: name,
    description: "",
    schema: { type: "object" },
  });
  const ports: ToolPorts = {
    box,
    tools: Object.fromEntries(offered.map((name) => [`s__${name}`, tool(name)])),
    servers: { s: { transport: "http", url: server.url } },
    begin: async ({ callIndex, position }) => rows.get(`${callIndex} ${position}`) ?? { is: "begun" },
    end: async ({ callIndex, position }, end) => {
      const is = "result" in end ? ({ is: "done", result: end.result } as const) : ({ ...end, is: "failed" } as const);
      rows.set(`${callIndex} ${position}`, is);
    },
    returned: async () => null,
    session: { perform: () => Promise.reject(), list: () => Promise.reject() },
    scrub: async (text) => text,
  };
  return { server, rows, ports };
}

it("an MCP server is asked once for its tools, and a repeated activity reuses that answer whatever the server answers by then", async () => {
  const { server, ports } = await world();
  const first = await listMcpTools(ports, ["s__act"], signal);
  expect(first).toMatchObject({ ports: { tools: { s__act: { description: "As it was.", schema: strict } } } });
  server.tools.clear();
  const again = await listMcpTools(ports, ["s__act"], signal);
  expect(again.is === "listed" && again.ports.tools).toEqual(first.is === "listed" && first.ports.tools);
  expect(server.listings()).toBe(1);
});

it("no MCP server is asked if none of its tools is offered", async () => {
  const { server, ports } = await world();
  expect(await listMcpTools(ports, [], signal)).toEqual({ is: "listed", ports });
  expect(server.listings()).toBe(0);
});

it("arguments are checked against the server's schema if that schema can be checked", async () => {
  const { server, ports } = await world(["act", "odd"]);
  const listed = await listMcpTools(ports, ["s__act", "s__odd"], signal);
  if (listed.is !== "listed") throw new Error("not listed");
  const calls = [
    { name: "s__act", arguments: '{"n":1}' },
    { name: "s__act", arguments: '{"n":"one"}' },
    { name: "s__odd", arguments: '{"any":1}' },
  ];
  const asked = { callIndex: 0, requestHash: "h", calls, offered: ["s__act", "s__odd"], again: false };
  expect(await performToolCalls(listed.ports, asked, signal)).toMatchObject([
    { is: "done", text: "did 1" },
    { is: "failed", failure: { code: "TOOL_ARGUMENTS" } },
    { is: "done", text: "odd" },
  ]);
  expect(server.calls()).toHaveLength(2);
});

it("a missing MCP tool ends the activity, and an unreachable server is retried", async () => {
  const { server, ports, rows } = await world(["gone"]);
  const lacks = await listMcpTools(ports, ["s__gone"], signal);
  expect(lacks).toMatchObject({ performed: { failure: { code: "TOOL_NOT_CONFIGURED" }, next: "fail" } });
  rows.clear();
  await server.close();
  open.splice(open.indexOf(server), 1);
  const away = { performed: { failure: { code: "TOOL_FAILED" }, next: "retry" } };
  expect(await listMcpTools(ports, ["s__gone"], signal)).toMatchObject(away);
  expect(await listMcpTools(ports, ["s__gone"], signal)).toMatchObject(away);
});

it("a worker that lost the activity does not list tools for it", async () => {
  const { ports } = await world();
  const lost = { ...ports, begin: async () => ({ is: "overtaken" as const }) };
  expect(await listMcpTools(lost, ["s__act"], signal)).toEqual({ is: "ended", performed: { did: "leave" } });
});
