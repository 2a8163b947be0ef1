/**
 * Tools as a program has them: data that says what a model may ask for and how it is done. Secrets stand here by name only; their
 * values, and what addresses may be reached, belong to the operator (packages/config). What performs them is packages/tools.
 */
import type { Json } from "./program.ts";

interface ToolBase {
  /** For the model. */
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly schema: Json;
  /** safe: it may be done again when nobody knows whether it was done. Absent: it is not. */
  readonly repeat?: "safe";
  /** From the call to the last byte of its result. Absent: what the operator says. */
  readonly timeoutMs?: number;
}

export const toolMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
type ToolMethod = (typeof toolMethods)[number];

/** A header as it stands, or the value of a secret the operator has under this name. */
export type ToolHeader = string | { readonly secret: string; readonly before?: string };

export interface HttpTool extends ToolBase {
  readonly kind: "http";
  readonly method: ToolMethod;
  /** `{name}` stands for an argument, percent-encoded. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, ToolHeader>>;
  /** Where arguments go that the url does not use. Absent: a body for POST, PUT and PATCH, else the query. */
  readonly send?: "query" | "json";
}

export const builtinNames = ["serper", "duckduckgo", "jina", "browserless", "scraper", "stock"] as const;
export type BuiltinName = (typeof builtinNames)[number];

/** Known by name; where it is asked, and with which key, the operator configures. */
export interface BuiltinTool extends ToolBase {
  readonly kind: "builtin";
  readonly builtin: BuiltinName;
  /** Left out where the operator has not configured it. Absent: whoever asks for it fails. */
  readonly optional?: true;
}

/** A tool of a server that speaks the Model Context Protocol; what the model is told of it, the server says when it is asked. */
interface McpTool extends ToolBase {
  readonly kind: "mcp";
  /** Key of `Program.mcp`. */
  readonly server: string;
  readonly tool: string;
}

/** A command in the run's session. */
export interface SandboxTool extends ToolBase {
  readonly kind: "sandbox";
  /** The author's; `{{name}}` stands for an argument, quoted for its place. null: the argument `command`, which is foreign. */
  readonly command: string | null;
}

/** Registered in TypeScript by whoever embeds Markmill. */
interface FunctionTool extends ToolBase {
  readonly kind: "function";
  readonly function: string;
}

/** A workflow of the definition: the call is a child run, which the engine asks for (workflow-tools.ts). */
export interface WorkflowTool extends ToolBase {
  readonly kind: "workflow";
  /** Key of the callee in the definition's programs. */
  readonly program: string;
  /** Variables of the callee by the argument that gives them; an argument that is not here is the variable of its name. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Which tool call of an activity: of which reply, and which of its calls. */
export interface ToolCallPlace {
  readonly callIndex: number;
  readonly requestHash: string;
  readonly position: number;
}

/** Only to be asked for: nothing performs it. */
interface DeclaredTool extends ToolBase {
  readonly kind: "declared";
}

export type Tool = HttpTool | BuiltinTool | McpTool | SandboxTool | FunctionTool | WorkflowTool | DeclaredTool;

/** As endpoints want it. */
export const toolNamePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * feed: results go back to the model, which answers in the end. outputs: it is asked once, and what its calls give is the answer.
 * raw: it is asked once, and the calls themselves are the answer.
 */
export type ToolUse = "feed" | "outputs" | "raw";

/** Results are given back so often where a program does not say. */
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

/** By the name a workflow uses: the name the model sees, and the tool. All of them only read: they are safe to repeat. */
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
