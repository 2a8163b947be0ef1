/** Tools and MCP servers in the front matter that run in the run's sandbox session: they have a `command` instead of an address. */
import { commandPlaces, type Json, type SandboxTool, type StdioServer } from "@markmill/engine";
import { z } from "zod";

const mostCommandCharacters = 16 * 1024;

/** The arguments of a tool whose command the model writes. */
export const ownCommandSchema: Json = {
  type: "object",
  properties: { command: { type: "string", description: "The shell command to run, in bash." } },
  required: ["command"],
  additionalProperties: false,
};

/** null: the model writes the command. */
export const toolCommand = z.union(
  [z.string().regex(/\S/, "expected a command").max(mostCommandCharacters), z.null()],
  "expected a command, or null: the model gives it",
);

/** Returns why this command cannot have these arguments, or null if it can. */
export function commandProblem(
  command: string | null,
  schema: Json | undefined,
): { readonly path: readonly string[]; readonly message: string } | null {
  if (command === null) {
    if (schema === undefined) return null;
    return { path: ["schema"], message: "the model gives the command: its schema is known, so remove it" };
  }
  const { properties = {} } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, Json>> };
  for (const { name, raw } of commandPlaces(command)) {
    if (raw) {
      const message = `{{{${name}}}} would let the model write shell: write {{${name}}}, which is quoted for its place`;
      return { path: ["command"], message };
    }
    if (!Object.hasOwn(properties, name)) {
      return { path: ["command"], message: `{{${name}}} is no argument: the schema has no property '${name}'` };
    }
  }
  return null;
}

export const serverCommand = z
  .union(
    [
      z
        .string()
        .regex(/^[^\s'"\\$`;&|<>(){}*?[\]~#]+$/, "expected a program, or a list of the program and its arguments")
        .transform((program): readonly [string, ...string[]] => [program]),
      z.tuple([z.string().min(1)], z.string()),
    ],
    "expected a program, or a list of the program and its arguments",
  )
  .refine((command) => command.join(" ").length <= mostCommandCharacters, "the command is too long")
  .refine((command) => !command.some((word) => word.includes("\0")), "a word of the command contains NUL");

export const serverEnvironment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable"),
  z.string().max(4_096),
);

export function stdioServerOf(
  command: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> | undefined,
): StdioServer {
  return { transport: "stdio", command, ...(environment === undefined ? {} : { environment }) };
}

export function writeSandboxTool({ command }: SandboxTool, base: Readonly<Record<string, unknown>>): object {
  const { schema: _, ...own } = base;
  return command === null ? { command, ...own } : { command, ...base };
}

export function writeStdioServer({ command, environment }: StdioServer): object {
  return { command: [...command], ...(environment === undefined ? {} : { env: environment }) };
}
