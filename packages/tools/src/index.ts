export type { ListedTool } from "./mcp-tool.ts";
export { createToolBox, type ToolBox, type ToolFunction } from "./tool-box.ts";
export { toolFailureCodes } from "./tool-codes.ts";
