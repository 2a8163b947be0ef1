/** `tools:` in the front matter: the tools that the PROMPTs of a workflow offer their model, as written and as in the program. */
import { isRecord } from "@markmill/base/json";
import {
  builtinNames,
  builtinTools,
  schemaProblem as findProblem,
  type Json,
  type Tool,
  type ToolHeader,
  toolMethods,
  toolNamePattern,
} from "@markmill/engine";
import { z } from "zod";
import { type Amount, duration, formatDuration, readAmount } from "../../quantity.ts";
import { noWords } from "./no-words.ts";
import { commandProblem, ownCommandSchema, toolCommand, writeSandboxTool } from "./session-tool-matter.ts";
import { calledWorkflow, workflowToolOf, writeWorkflowTool } from "./workflow-matter.ts";

/** More tools do not help a model, and each request contains all of them. */
export const mostTools = 64;
const mostSchemaCharacters = 32 * 1024;
const mostSchemaDepth = 32;

export const time = (of: Amount) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const read = readAmount(of, String(value));
    if (read.ok) return read.value;
    context.addIssue({ code: "custom", message: read.problem });
    return z.NEVER;
  });

const argumentsSchema = z.unknown().transform((value, context): Json => {
  const problem = schemaProblem(value);
  if (problem === null) return value as Json;
  context.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

export const toolHeader = z.union([
  z.string().regex(/^[\t\x20-\x7e]*$/, "expected printable characters"),
  z.strictObject({ secret: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), before: z.string().optional() }),
]);
export const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/);
const common = {
  description: z.string().min(1).max(4_096),
  schema: argumentsSchema.optional(),
  repeat: z.literal("safe").optional(),
  timeout: time(duration).optional(),
};
const builtin = z.enum(builtinNames, `expected a description of a tool, or one of ${builtinNames.join(", ")}`);
const overHttp = z.strictObject({
  ...common,
  url: z
    .string("expected url, command, function or workflow")
    .refine(isUrl, "expected an http or https address whose host has no {place}"),
  method: z.enum(toolMethods).optional(),
  headers: z.record(headerName, toolHeader).optional(),
  send: z.enum(["query", "json"]).optional(),
});
const ofEmbedder = z.strictObject({ ...common, function: z.string().min(1) });
const inSession = z.strictObject({ ...common, command: toolCommand }).superRefine(({ command, schema }, context) => {
  const problem = commandProblem(command, schema);
  if (problem !== null) context.addIssue({ code: "custom", path: [...problem.path], message: problem.message });
});
type Written =
  | z.output<typeof builtin>
  | z.output<typeof overHttp>
  | z.output<typeof ofEmbedder>
  | z.output<typeof inSession>
  | z.output<typeof calledWorkflow>;

/** Chooses the form by the keys that are present. So a finding names the exact mistake, and not only that no form fits. */
const written = z.unknown().transform((value, context): Written => {
  const form = isRecord(value) ? formOf(value) : builtin;
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: "custom", path: [...path], message });
  return z.NEVER;
});

function formOf(value: object) {
  if ("workflow" in value) return calledWorkflow;
  if ("function" in value) return ofEmbedder;
  return "command" in value ? inSession : overHttp;
}

export const toolsSchema = z
  .record(z.string().regex(toolNamePattern, "expected letters, digits, _ and -, at most 64"), written)
  .refine((tools) => Object.keys(tools).length <= mostTools, `expected at most ${mostTools} tools`);

export function toolsOf(matter: z.infer<typeof toolsSchema>): Readonly<Record<string, Tool>> {
  return Object.fromEntries(
    Object.entries(matter).map(([name, tool]): [string, Tool] => {
      if (typeof tool === "string") return [name, builtinTools[tool].tool];
      if ("workflow" in tool) return [name, workflowToolOf(tool)];
      const { timeout, schema, repeat, description } = tool;
      const base = {
        description,
        schema: schema ?? { type: "object" },
        ...(repeat === undefined ? {} : { repeat }),
        ...(timeout === undefined ? {} : { timeoutMs: timeout }),
      };
      if ("function" in tool) return [name, { kind: "function", function: tool.function, ...base }];
      if ("command" in tool) {
        const { command } = tool;
        const own = command === null ? { schema: ownCommandSchema } : {};
        return [name, { kind: "sandbox", command, ...base, ...own }];
      }
      const { url, method = "GET", headers, send } = tool;
      const sent = Object.fromEntries(Object.entries(headers ?? {}).map(([key, value]) => [key, headerOf(value)]));
      return [
        name,
        {
          kind: "http",
          method,
          url,
          ...base,
          ...(headers === undefined ? {} : { headers: sent }),
          ...(send === undefined ? {} : { send }),
        },
      ];
    }),
  );
}

export function headerOf(value: z.infer<typeof toolHeader>): ToolHeader {
  if (typeof value === "string") return value;
  return value.before === undefined ? { secret: value.secret } : { secret: value.secret, before: value.before };
}

/** Writes these tools as front matter, without those of MCP servers; undefined if there are none. */
export function writeTools(
  tools: Readonly<Record<string, Tool>> | undefined,
  path: (to: string) => string,
): Record<string, unknown> | undefined {
  const own = Object.entries(tools ?? {}).filter(([, { kind }]) => kind !== "mcp");
  if (own.length === 0) return undefined;
  return Object.fromEntries(
    own.map(([name, tool]): [string, unknown] => {
      const { description, schema, repeat, timeoutMs } = tool;
      const base = {
        description,
        schema,
        ...(repeat === undefined ? {} : { repeat }),
        ...(timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) }),
      };
      switch (tool.kind) {
        case "builtin":
          if (tool.optional === true) throw noWords(`the tool ${name}`);
          return [name, tool.builtin];
        case "workflow":
          return [name, writeWorkflowTool(tool, path)];
        case "function":
          return [name, { function: tool.function, ...base }];
        case "sandbox":
          return [name, writeSandboxTool(tool, base)];
        case "http": {
          const { url, method, headers, send } = tool;
          return [
            name,
            {
              url,
              method,
              ...(headers === undefined ? {} : { headers }),
              ...(send === undefined ? {} : { send }),
              ...base,
            },
          ];
        }
        default:
          throw noWords(`the tool ${name}`);
      }
    }),
  );
}

export function isUrl(text: string): boolean {
  if (/^[a-z]+:\/\/[^/?#]*[{}]/i.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

/**
 * Returns why the value cannot be the schema of a tool's arguments. A YAML alias can make it contain itself, so it is checked only to a
 * fixed depth.
 */
function schemaProblem(value: unknown): string | null {
  if (!isRecord(value)) return "expected a JSON Schema, an object";
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > mostSchemaDepth) return `the schema is nested deeper than ${mostSchemaDepth}, or holds itself`;
    if (level.length > mostSchemaCharacters) return "the schema is too large";
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  if (JSON.stringify(value).length > mostSchemaCharacters)
    return `the schema is longer than ${mostSchemaCharacters} characters`;
  if ((value as { type?: unknown }).type !== "object")
    return "the schema of a tool's arguments has to say type: object";
  const { properties = {} } = value as { properties?: unknown };
  if (!isRecord(properties)) return "properties of the schema have to be an object, with a schema for each argument";
  // A pattern that our engine cannot read is sent to the model, but not checked.
  const problem = findProblem(value, { pattern: "any" });
  return problem === null ? null : `the schema cannot be used: ${problem.path}: ${problem.message}`;
}
