/**
 * Describes the tools of MCP servers for a prompt's model. Each server is asked once per activity, and its answer is stored as a row, like
 * a tool call. If the activity is repeated after kill -9, or retried, it finds that row and makes the same request (I3), whatever the
 * server answers by then. A listing changes nothing, so it is safe to repeat until it has ended.
 */
import type { Tool } from "@markmill/engine";
import type { ListedTool } from "@markmill/tools";
import { endOf, type ToolPorts } from "./perform-tools.ts";
import { failed, type Performed } from "./performed.ts";

/** Before all calls of models (0 and up) and of the workflow itself (-1). */
const listingIndex = -2;

type Ended = { readonly is: "ended"; readonly performed: Performed };
type McpTools = ReadonlyMap<string, Extract<Tool, { kind: "mcp" }>>;
export type ListedPorts = { readonly is: "listed"; readonly ports: ToolPorts } | Ended;

/** Returns the same ports. The tools among `names` get the descriptions and schemas of their servers. */
export async function listMcpTools(
  ports: ToolPorts,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ListedPorts> {
  const servers = new Map<string, Map<string, Extract<Tool, { kind: "mcp" }>>>();
  for (const name of names) {
    const tool = Object.hasOwn(ports.tools, name) ? ports.tools[name] : undefined;
    if (tool?.kind !== "mcp") continue;
    const known = servers.get(tool.server) ?? new Map();
    servers.set(tool.server, known.set(name, tool));
  }
  if (servers.size === 0) return { is: "listed", ports };
  const listings = await Promise.all(
    Array.from(servers, ([server, tools], position) => listing(ports, server, tools, position, signal)),
  );
  const tools: Record<string, Tool> = { ...ports.tools };
  for (const one of listings) {
    if (one.is === "ended") return one;
    Object.assign(tools, one.tools);
  }
  return { is: "listed", ports: { ...ports, tools } };
}

type Listing = { readonly is: "listed"; readonly tools: Readonly<Record<string, Tool>> } | Ended;

async function listing(
  ports: ToolPorts,
  server: string,
  tools: McpTools,
  position: number,
  signal: AbortSignal,
): Promise<Listing> {
  const fail = (code: string, message: string, passing: boolean): Ended => {
    const told = `The tools of the MCP server '${server}': ${message}`;
    return { is: "ended", performed: failed(code, told, passing ? "retry" : "fail") };
  };
  const reached = Object.hasOwn(ports.servers, server) ? ports.servers[server] : undefined;
  if (reached === undefined) return fail("TOOL_NOT_CONFIGURED", "The workflow has no such server.", false);
  const wanted = [...new Set(Array.from(tools.values(), ({ tool }) => tool))];
  const place = { callIndex: listingIndex, requestHash: "", position };
  const call = { name: `${server}: tools/list`, arguments: JSON.stringify({ tools: wanted }), safe: true, again: true };
  const begun = await ports.begin(place, call);
  switch (begun.is) {
    case "done":
      return described(tools, begun.result);
    case "failed":
      return fail(begun.failure.code, begun.failure.message, begun.failure.passing === true);
    case "unknown":
    case "overtaken":
      return { is: "ended", performed: { did: "leave" } };
    case "begun":
      break;
  }
  const since = performance.now();
  const end =
    reached.transport === "stdio"
      ? await ports.session.list(place, reached, wanted, signal)
      : endOf(await ports.box.list({ server: reached, tools: wanted, signal }));
  if ("ended" in end) return { is: "ended", performed: end.ended };
  const ms = performance.now() - since;
  if ("result" in end) {
    await ports.end(place, { result: end.result, ms });
    return described(tools, end.result);
  }
  await ports.end(place, { ...end, ms });
  const { code, message, passing } = end.failure;
  return fail(code, message, passing === true);
}

/** Reads the row even if it was just written: the request must equal the one that a repeated activity builds from the row. */
function described(tools: McpTools, text: string): Listing {
  const listed = new Map((JSON.parse(text) as readonly ListedTool[]).map((one) => [one.tool, one]));
  const told = Object.fromEntries(
    Array.from(tools, ([name, tool]): [string, Tool] => {
      const said = listed.get(tool.tool);
      return [name, said === undefined ? tool : { ...tool, description: said.description, schema: said.schema }];
    }),
  );
  return { is: "listed", tools: told };
}
