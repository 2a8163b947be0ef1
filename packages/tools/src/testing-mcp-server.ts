/**
 * A test server of the Model Context Protocol on the loopback, built with the official library. Its tools can be changed, and it records
 * its calls.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";

export interface TestingMcpTool {
  readonly description?: string;
  readonly inputSchema?: { readonly type: "object"; readonly [key: string]: unknown };
  readonly outputSchema?: { readonly type: "object"; readonly [key: string]: unknown };
  readonly call: (
    values: Readonly<Record<string, unknown>>,
    extra: {
      readonly headers: Readonly<Record<string, unknown>>;
      /** Sends a request to the client, along with the answer. */
      readonly ask: (request: "ping" | "sampling/createMessage") => Promise<unknown>;
    },
  ) => CallToolResult | Promise<CallToolResult>;
}

export interface TestingMcpServer {
  readonly url: string;
  /** The value for TOOL_ALLOW. */
  readonly address: string;
  /** May be changed while the server runs. */
  readonly tools: Map<string, TestingMcpTool>;
  listings(): number;
  calls(): readonly { readonly name: string; readonly values: Readonly<Record<string, unknown>> }[];
  /** Sessions that their client has not ended. */
  sessions(): number;
  close(): Promise<void>;
}

const sampling = { method: "sampling/createMessage" as const, params: { messages: [], maxTokens: 10 } };

export const saying = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

/**
 * json: answers are JSON, not streams. page: the number of tools per page of a listing. last: the cursor of the last page. port: a fixed
 * port, to start the server again.
 */
export async function startMcpServer(
  given: Readonly<Record<string, TestingMcpTool>>,
  { json = false, page = 100, port = 0, last }: { json?: boolean; page?: number; port?: number; last?: string } = {},
): Promise<TestingMcpServer> {
  const tools = new Map(Object.entries(given));
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const calls: { name: string; values: Readonly<Record<string, unknown>> }[] = [];
  let listings = 0;

  function speaking(): Server {
    const server = new Server({ name: "testing", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const from = Number(params?.cursor ?? 0);
      if (from === 0) listings += 1;
      const listed = [...tools].slice(from, from + page).map(([name, { description, inputSchema, outputSchema }]) => ({
        name,
        inputSchema: inputSchema ?? { type: "object" as const },
        ...(description === undefined ? {} : { description }),
        ...(outputSchema === undefined ? {} : { outputSchema }),
      }));
      const ends = last === undefined ? {} : { nextCursor: last };
      return { tools: listed, ...(from + page < tools.size ? { nextCursor: String(from + page) } : ends) };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: values = {} } }, extra) => {
      const tool = tools.get(name);
      if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Tool ${name} not found`);
      calls.push({ name, values });
      const asked = { ping: { method: "ping" as const }, "sampling/createMessage": sampling };
      const ask = (request: keyof typeof asked) => extra.sendRequest(asked[request], ResultSchema);
      return await tool.call(values, { headers: extra.requestInfo?.headers ?? {}, ask });
    });
    return server;
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = incoming.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (known !== undefined) return await known.handleRequest(incoming, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: json,
      onsessioninitialized: (made) => void sessions.set(made, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await speaking().connect(transport as Transport);
    await transport.handleRequest(incoming, response);
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    address: `127.0.0.1:${bound}`,
    tools,
    listings: () => listings,
    calls: () => calls,
    sessions: () => sessions.size,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
