/** Lists the tools of a server of the Model Context Protocol, and returns the results of calls as text. */
import type { Json, McpServer } from "@markmill/engine";
import type { ArgumentValues } from "./fill-url.ts";
import type { CallLimits } from "./http-tool.ts";
import { type McpPorts, withMcpServer } from "./mcp-session.ts";
import { ToolFailure } from "./tool-codes.ts";

/** The description of a tool for a model, as its server gives it. */
export interface ListedTool {
  readonly tool: string;
  readonly description: string;
  readonly schema: Json;
}

const mostPages = 20;
const mostParts = 10_000;
const mostDescriptionCharacters = 4_096;
const mostSchemaCharacters = 32 * 1024;

/** Lists the wanted tools in their order. All of them must exist. */
export async function listMcpTools(
  ports: McpPorts,
  server: McpServer,
  wanted: readonly string[],
  limits: CallLimits,
): Promise<readonly ListedTool[]> {
  const found = new Map<string, ListedTool>();
  const others: string[] = [];
  await withMcpServer(ports, server, limits, async (ask) => {
    let cursor: string | undefined;
    for (let page = 0; page < mostPages && found.size < wanted.length; page += 1) {
      const { tools, nextCursor } = await ask("tools/list", cursor === undefined ? {} : { cursor });
      if (!Array.isArray(tools)) throw new ToolFailure("TOOL_FAILED", "The server's list of tools is no list.");
      for (const { name, description, inputSchema } of tools.map(fields)) {
        if (typeof name !== "string") continue;
        if (!wanted.includes(name)) others.push(name);
        else if (!found.has(name)) found.set(name, listedTool(name, ports.hide(textIn(description)), inputSchema));
      }
      cursor = textIn(nextCursor);
      // An empty cursor ends the listing too.
      if (cursor === "") break;
    }
  });
  return wanted.map((name) => {
    const tool = found.get(name);
    if (tool !== undefined) return tool;
    const has = [...found.keys(), ...others].slice(0, 20).map((other) => ports.hide(other).slice(0, 64));
    const known = has.length === 0 ? "none" : has.join(", ");
    throw new ToolFailure("TOOL_NOT_CONFIGURED", `The server has no tool '${name}'; it has: ${known}.`);
  });
}

function listedTool(tool: string, description: string, inputSchema: unknown): ListedTool {
  if (typeof inputSchema !== "object" || inputSchema === null || Array.isArray(inputSchema)) {
    throw new ToolFailure("TOOL_FAILED", `The server's tool '${tool}' has no schema.`);
  }
  const written = JSON.stringify(inputSchema, (_, value: unknown) =>
    typeof value === "string" ? sound(value) : value,
  );
  if (written.length > mostSchemaCharacters) {
    const most = `${mostSchemaCharacters / 1024} Ki characters`;
    throw new ToolFailure("TOOL_TOO_LARGE", `The schema of the server's tool '${tool}' is longer than ${most}.`);
  }
  const told = sound(description.slice(0, mostDescriptionCharacters));
  return { tool, description: told, schema: JSON.parse(written) as Json };
}

const sound = (text: string) => text.replaceAll("\0", "\uFFFD").toWellFormed();

export async function callMcpTool(
  ports: McpPorts,
  server: McpServer,
  tool: string,
  values: ArgumentValues,
  limits: CallLimits,
): Promise<string> {
  const result = await withMcpServer(ports, server, limits, (ask) =>
    ask("tools/call", { name: tool, arguments: { ...values } }),
  );
  const parts: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  if (parts.length > mostParts) {
    throw new ToolFailure("TOOL_TOO_LARGE", `The answer of the tool has more than ${mostParts} parts.`);
  }
  const text = withStructure(parts.map(textOfPart), result.structuredContent);
  if (result.isError === true) throw new ToolFailure("TOOL_FAILED", text || "The tool says no more.");
  return text;
}

/** Structured content is sent as JSON. Servers may repeat it among the texts; then it is not added. */
function withStructure(texts: readonly string[], structure: unknown): string {
  if (structure === undefined) return texts.join("\n");
  const written = JSON.stringify(structure);
  return (texts.some((text) => sameJson(text, written)) ? texts : [...texts, written]).join("\n");
}

function sameJson(text: string, written: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === written;
  } catch {
    return false;
  }
}

const unknownPart = "[a part of an unknown kind: not shown]";

/** A part that is not text is only mentioned, not sent. */
function textOfPart(part: unknown): string {
  const { type, text, mimeType, resource, uri, name } = fields(part);
  switch (type) {
    case "text":
      return typeof text === "string" ? text : unknownPart;
    case "image":
    case "audio":
      return `[${type}, ${textIn(mimeType)}: not shown]`;
    case "resource": {
      const held = fields(resource);
      return typeof held.text === "string" ? held.text : `[resource ${textIn(held.uri)}: no text, not shown]`;
    }
    case "resource_link":
      return `[resource ${textIn(name)}: ${textIn(uri)}]`;
    default:
      return unknownPart;
  }
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
