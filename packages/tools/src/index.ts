export type { StartServer } from "./mcp-over-stdio.ts";
export type { ListedTool } from "./mcp-tool.ts";
export { readToolCommand, type ToolCommand } from "./sandbox-tool.ts";
export { createToolBox, type ToolBox, type ToolFunction } from "./tool-box.ts";
export { type ToolResult, toolFailureCodes } from "./tool-codes.ts";
