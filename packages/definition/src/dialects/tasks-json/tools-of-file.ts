/** The tools that the models of a file may call: built-in tools by name, and tools that the file describes. */
import { type BuiltinName, builtinTools, type Tool } from "@markmill/engine";
import { type Reading, wrong } from "./json-fields.ts";
import type { CustomTool, TaskFile } from "./task-file.ts";

export interface TaskTools {
  /** The tools that the file needs; null if there are none. */
  readonly all: () => Readonly<Record<string, Tool>> | null;
  readonly namesFor: (operator: "function_calling" | "function_calling_raw") => readonly string[];
  /** Returns the tool that searches the web. If the file names none, one is added. */
  readonly webSearch: () => string;
}

/** The meaning of ALL. A tool that the operator has not configured is left out. */
const everything: readonly BuiltinName[] = ["serper", "duckduckgo", "stock", "jina"];

export function toolsOf(file: TaskFile, reading: Reading): TaskTools {
  const tools = new Map<string, Tool>();
  const offered: string[] = [];
  for (const builtin of file.builtins === "ALL" ? everything : file.builtins) {
    const { name, tool } = builtinTools[builtin];
    tools.set(name, file.builtins === "ALL" ? { ...tool, optional: true } : tool);
    offered.push(name);
  }
  for (const custom of file.customTools) {
    if (tools.has(custom.name)) {
      const message = `${custom.name} is the name of a built-in tool that config.tools names.`;
      wrong(reading, "TOOL_DEFINED_TWICE", custom.at, message, "Rename the custom tool.");
    }
    tools.set(custom.name, customTool(custom));
    offered.push(custom.name);
  }
  return {
    all: () => (tools.size === 0 ? null : Object.fromEntries(tools)),
    namesFor: (operator) =>
      offered.filter((name) => operator === "function_calling_raw" || tools.get(name)?.kind !== "declared"),
    webSearch() {
      const known = (["serper", "duckduckgo"] as const).find((builtin) => tools.has(builtinTools[builtin].name));
      const { name, tool } = builtinTools[known ?? "serper"];
      if (!tools.has(name)) tools.set(name, tool);
      return name;
    },
  };
}

function customTool({ description, how }: CustomTool): Tool {
  if (how.mode === "declared") return { kind: "declared", description, schema: how.schema };
  const { method, url, headers, arguments: names } = how;
  return {
    kind: "http",
    description,
    schema: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: [...names],
      additionalProperties: false,
    },
    method,
    url,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(method === "GET" ? { repeat: "safe" as const } : {}),
  };
}
