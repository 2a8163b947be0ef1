/** `mcp:` in the front matter: servers of tools, and the tools of these servers that a workflow offers its models. */
import { type HttpServer, type McpServer, type Tool, toolNamePattern } from "@markmill/engine";
import { z } from "zod";
import { duration, formatDuration } from "../../quantity.ts";
import { noWords } from "./no-words.ts";
import { serverCommand, serverEnvironment, stdioServerOf, writeStdioServer } from "./session-tool-matter.ts";
import { headerName, headerOf, isUrl, mostTools, time, toolHeader } from "./tools-matter.ts";

const toolName = z.string().min(1).max(128);
const allowed = z
  .union(
    [
      toolName,
      z.strictObject({ name: toolName, repeat: z.literal("safe").optional(), timeout: time(duration).optional() }),
    ],
    "expected the name of a tool, or name, repeat and timeout",
  )
  .transform((tool) => (typeof tool === "string" ? { name: tool } : tool));

const tools = z.array(allowed, "expected a list: the tools of this server that models may ask for").min(1);
const overHttp = z.strictObject({
  url: z
    .string("expected url, or command")
    .refine((text) => !/[{}]/.test(text) && isUrl(text), "expected an http or https address without {places}"),
  headers: z.record(headerName, toolHeader).optional(),
  tools,
});
const overStdio = z.strictObject({ command: serverCommand, env: serverEnvironment.optional(), tools });
type Written = z.output<typeof overHttp> | z.output<typeof overStdio>;

/** Chooses the form by the keys that are present, so that a finding names the exact place. */
const server = z.unknown().transform((value, context): Written => {
  const isProgram = typeof value === "object" && value !== null && "command" in value;
  const parsed = (isProgram ? overStdio : overHttp).safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues)
    context.issues.push({ ...issue, input: value } as (typeof context.issues)[number]);
  return z.NEVER;
});

export const mcpKeys = ["url", "headers", "command", "env", "tools"];

export const mcpSchema = z
  .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, "expected letters, digits, _ and -, at most 32"), server)
  .superRefine((servers, context) => {
    const names = new Map<string, string>();
    for (const [key, { tools }] of Object.entries(servers)) {
      for (const [index, { name }] of tools.entries()) {
        const full = mcpToolName(key, name);
        const path = [key, "tools", index];
        if (!toolNamePattern.test(full))
          context.addIssue({
            code: "custom",
            path,
            message: `models would see ${full}, which is longer than 64 characters`,
          });
        if (names.has(full))
          context.addIssue({ code: "custom", path, message: `models would see two tools with the name ${full}` });
        names.set(full, name);
      }
    }
    if (names.size > mostTools)
      context.addIssue({ code: "custom", path: [], message: `expected at most ${mostTools} tools of all servers` });
  });

type McpMatter = z.output<typeof mcpSchema>;

/** The name that a model sees. */
function mcpToolName(key: string, tool: string): string {
  return `${key}__${tool.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}

export function mcpServersOf(matter: McpMatter): Readonly<Record<string, McpServer>> {
  return Object.fromEntries(
    Object.entries(matter).map(([key, written]): [string, McpServer] => {
      if ("command" in written) return [key, stdioServerOf(written.command, written.env)];
      const { url, headers } = written;
      const sent = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, headerOf(value)]));
      return [key, { transport: "http", url, ...(headers === undefined ? {} : { headers: sent }) }];
    }),
  );
}

/** The server provides descriptions and schemas when it is connected. */
export function mcpToolsOf(matter: McpMatter): Readonly<Record<string, Tool>> {
  return Object.fromEntries(
    Object.entries(matter).flatMap(([key, { tools }]) =>
      tools.map(
        ({
          name,
          repeat,
          timeout,
        }: {
          name: string;
          repeat?: "safe" | undefined;
          timeout?: number | undefined;
        }): [string, Tool] => [
          mcpToolName(key, name),
          {
            kind: "mcp",
            server: key,
            tool: name,
            description: "",
            schema: { type: "object" },
            ...(repeat === undefined ? {} : { repeat }),
            ...(timeout === undefined ? {} : { timeoutMs: timeout }),
          },
        ],
      ),
    ),
  );
}

/** Writes these servers and their tools as front matter; undefined if there are none. */
export function writeMcp(
  servers: Readonly<Record<string, McpServer>> | undefined,
  tools: Readonly<Record<string, Tool>> | undefined,
): Record<string, unknown> | undefined {
  const theirs = Object.entries(tools ?? {}).flatMap(([name, tool]) => (tool.kind === "mcp" ? [{ name, tool }] : []));
  for (const { name, tool } of theirs) {
    const known = Object.hasOwn(servers ?? {}, tool.server) && name === mcpToolName(tool.server, tool.tool);
    if (!known) throw noWords(`the tool ${name}`);
  }
  if (servers === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(servers).map(([key, server]): [string, unknown] => [
      key,
      {
        ...(server.transport === "stdio" ? writeStdioServer(server) : writeHttpServer(server)),
        tools: theirs
          .filter(({ tool }) => tool.server === key)
          .map(({ tool: { tool, repeat, timeoutMs } }) =>
            repeat === undefined && timeoutMs === undefined
              ? tool
              : {
                  name: tool,
                  ...(repeat === undefined ? {} : { repeat }),
                  ...(timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) }),
                },
          ),
      },
    ]),
  );
}

function writeHttpServer({ url, headers }: HttpServer): object {
  return { url, ...(headers === undefined ? {} : { headers }) };
}
