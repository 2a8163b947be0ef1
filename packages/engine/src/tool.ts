/**
 * Tools in a program: data that describes what a model may request and how it is performed. Secrets appear here only by name. The operator
 * owns their values and decides which addresses may be reached (packages/config). packages/tools performs the tool calls.
 */
import type { Json } from "./program.ts";

interface ToolBase {
  /** For the model. */
  readonly description: string;
  /** JSON Schema of the arguments, which are an object. */
  readonly schema: Json;
  /** safe: the call may be repeated if it is unknown whether it was performed. By default it may not. */
  readonly repeat?: "safe";
  /** From the call to the last byte of its result. Default: the operator's value. */
  readonly timeoutMs?: number;
}

export const toolMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
type ToolMethod = (typeof toolMethods)[number];

/** A literal header, or the value of the operator's secret with this name. */
export type ToolHeader = string | { readonly secret: string; readonly before?: string };

export interface HttpTool extends ToolBase {
  readonly kind: "http";
  readonly method: ToolMethod;
  /** `{name}` is replaced by an argument, percent-encoded. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, ToolHeader>>;
  /** How arguments are sent that the url does not use. Default: as a body for POST, PUT and PATCH, else in the query. */
  readonly send?: "query" | "json";
}

export const builtinNames = ["serper", "duckduckgo", "jina", "browserless", "scraper", "stock"] as const;
export type BuiltinName = (typeof builtinNames)[number];

/** A tool that is known by name. The operator configures its address and key. */
export interface BuiltinTool extends ToolBase {
  readonly kind: "builtin";
  readonly builtin: BuiltinName;
  /** If the operator has not configured the tool, it is left out. By default, a prompt that needs it fails. */
  readonly optional?: true;
}

/** A tool of a server that speaks the Model Context Protocol. The server provides the description for the model. */
interface McpTool extends ToolBase {
  readonly kind: "mcp";
  /** Key of `Program.mcp`. */
  readonly server: string;
  readonly tool: string;
}

/** A command in the run's session. */
export interface SandboxTool extends ToolBase {
  readonly kind: "sandbox";
  /**
   * The author's command; `{{name}}` is replaced by an argument, quoted for its position. null: the command is the argument `command`,
   * which is untrusted.
   */
  readonly command: string | null;
}

/** A function in TypeScript that is registered by the application which embeds Markmill. */
interface FunctionTool extends ToolBase {
  readonly kind: "function";
  readonly function: string;
}

/** A workflow of the definition. The call is a child run, which the engine requests (workflow-tools.ts). */
export interface WorkflowTool extends ToolBase {
  readonly kind: "workflow";
  /** Key of the callee in the definition's programs. */
  readonly program: string;
  /** Variables of the callee, by argument. An argument that is not listed sets the variable of the same name. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Identifies a tool call of an activity: which reply, and which of its calls. */
export interface ToolCallPlace {
  readonly callIndex: number;
  readonly requestHash: string;
  readonly position: number;
}

/** A tool that a model may call but that nothing performs. */
interface DeclaredTool extends ToolBase {
  readonly kind: "declared";
}

export type Tool = HttpTool | BuiltinTool | McpTool | SandboxTool | FunctionTool | WorkflowTool | DeclaredTool;

/** The form that endpoints require. */
export const toolNamePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * feed: the model receives the results and answers in the end.
 * outputs: the model is called once, and the results of its tool calls are the answer.
 * raw: the model is called once, and the tool calls themselves are the answer.
 */
export type ToolUse = "feed" | "outputs" | "raw";

/** The default number of times that results are returned to the model. */
export const usualRounds = 8;

const special: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  n_results: { type: "integer", minimum: 1, maximum: 10 },
  search_type: { type: "string", enum: ["search", "scholar", "news"] },
};

const words = (properties: Record<string, string>, required: readonly string[]): Json => ({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, description]) => [
      name,
      { ...(special[name] ?? { type: "string" }), description },
    ]),
  ),
  required: [...required],
  additionalProperties: false,
});

/** By the name in a workflow: the name that the model sees, and the tool. All of them only read, so they are safe to repeat. */
export const builtinTools: Readonly<Record<BuiltinName, { readonly name: string; readonly tool: BuiltinTool }>> = {
  serper: {
    name: "google_search_tool",
    tool: {
      kind: "builtin",
      builtin: "serper",
      description: "Searches the web. Gives titles, links, snippets and dates.",
      schema: words(
        {
          query: "What to search for.",
          lang: "Language, such as en.",
          search_type: "What kind of results.",
          n_results: "How many results.",
        },
        ["query"],
      ),
      repeat: "safe",
    },
  },
  duckduckgo: {
    name: "ddg_searcher",
    tool: {
      kind: "builtin",
      builtin: "duckduckgo",
      description: "Searches the web. Gives a JSON list of titles, links and snippets.",
      schema: words({ query: "What to search for." }, ["query"]),
      repeat: "safe",
    },
  },
  jina: {
    name: "jina_web_scraper",
    tool: {
      kind: "builtin",
      builtin: "jina",
      description: "Reads a web page as plain text.",
      schema: words({ website: "Address of the page, with https://." }, ["website"]),
      repeat: "safe",
    },
  },
  browserless: {
    name: "browserless_web_scraper",
    tool: {
      kind: "builtin",
      builtin: "browserless",
      description: "Opens a web page in a browser and gives its headings and paragraphs.",
      schema: words({ website: "Address of the page, with https://." }, ["website"]),
      repeat: "safe",
    },
  },
  scraper: {
    name: "website_scraper",
    tool: {
      kind: "builtin",
      builtin: "scraper",
      description: "Fetches a web page and gives its headings and paragraphs.",
      schema: words({ website: "Address of the page, with https://." }, ["website"]),
      repeat: "safe",
    },
  },
  stock: {
    name: "stock_scraper",
    tool: {
      kind: "builtin",
      builtin: "stock",
      description: "Gives the figures of a stock.",
      schema: words({ exchange: "Such as NASDAQ.", ticker: "Such as GOOGL." }, ["exchange", "ticker"]),
      repeat: "safe",
    },
  },
};
