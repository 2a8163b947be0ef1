/** Decides which tools act in the sandbox session of their run. Such tools change its files, so they run one after the other. */
import type { Node, Program } from "./program.ts";
import type { Tool } from "./tool.ts";

export function actsInSession(tool: Tool, servers: Program["mcp"] = {}): boolean {
  switch (tool.kind) {
    case "sandbox":
      return true;
    case "mcp":
      return Object.hasOwn(servers, tool.server) && servers[tool.server]?.transport === "stdio";
    default:
      return false;
  }
}

/** Returns whether a visit of this node may run commands, either itself or by the tools that it offers. */
export function runsCommands(node: Node, { tools = {}, mcp }: Pick<Program, "tools" | "mcp">): boolean {
  const inSession = (name: string) => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return tool !== undefined && actsInSession(tool, mcp);
  };
  switch (node.kind) {
    case "execute":
      return true;
    case "tool":
      return inSession(node.tool);
    case "map":
      return node.each.kind === "tool" && inSession(node.each.tool);
    default:
      return "tools" in node && (node.tools ?? []).some(inSession);
  }
}
