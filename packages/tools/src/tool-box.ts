/**
 * Performs tools: one function per kind. A tool's result is untrusted text (I7): it is bounded, contains none of our secrets, and is never
 * expanded again. Arguments were already checked against the tool's schema.
 */
import type { McpServer, Tool } from "@markmill/engine";
import { type AllowedAddress, addressRules } from "./address-rules.ts";
import { type BuiltinSettings, performBuiltin } from "./builtin-tool.ts";
import { type CheckedFetch, createCheckedFetch } from "./checked-fetch.ts";
import type { ArgumentValues } from "./fill-url.ts";
import { type CallLimits, performHttp } from "./http-tool.ts";
import type { StartServer } from "./mcp-over-stdio.ts";
import { callMcpTool, listMcpTools } from "./mcp-tool.ts";
import { hideSecrets, type Secrets } from "./secrets.ts";
import { ToolFailure, type ToolResult } from "./tool-codes.ts";

export interface ToolSettings {
  /** Addresses that are not public but may be reached. */
  readonly allow: readonly AllowedAddress[];
  readonly secrets: Secrets;
  readonly builtins: BuiltinSettings;
  readonly timeoutMs: number;
  /** The maximum for every tool, regardless of the tool's own value. */
  readonly maxTimeoutMs: number;
  readonly maxBytes: number;
}

/** A function of the program that embeds Markmill. An error it throws is a failure of the tool. */
export type ToolFunction = (values: ArgumentValues, signal: AbortSignal) => Promise<string> | string;

interface ToolCallRequest {
  readonly name: string;
  readonly tool: Tool;
  readonly values: ArgumentValues;
  /** The program's servers, by the name that tools of the kind mcp use. */
  readonly servers?: Readonly<Record<string, McpServer>>;
  /** Starts servers that are programs; absent: there is no session. */
  readonly start?: StartServer;
  readonly signal: AbortSignal;
}

interface McpListing {
  readonly server: McpServer;
  /** Names of its tools, at least one. */
  readonly tools: readonly string[];
  readonly start?: StartServer;
  readonly signal: AbortSignal;
}

export interface ToolBox {
  /** The maximum size of a result. */
  readonly maxBytes: number;
  /** false: the tool is built in and not configured. */
  has(tool: Tool): boolean;
  /** Rejects only on an abort. */
  perform(request: ToolCallRequest): Promise<ToolResult>;
  /** Returns a server's tools as a JSON list of `ListedTool`. Rejects only on an abort. */
  list(listing: McpListing): Promise<ToolResult>;
  close(): Promise<void>;
}

export function createToolBox(settings: ToolSettings, functions: Readonly<Record<string, ToolFunction>> = {}): ToolBox {
  const { builtins } = settings;
  const rules = addressRules(settings.allow);
  const hide = hideSecrets([
    ...Object.values(settings.secrets).map(({ value }) => value),
    ...Object.values(builtins).flatMap((endpoint) => endpoint?.key ?? []),
  ]);
  const outside = createCheckedFetch(rules);
  // Hide secrets before any text is cut: half a secret is a secret too.
  const fetch: CheckedFetch = {
    ...outside,
    async request(wanted) {
      const answer = await outside.request(wanted);
      return { ...answer, text: hide(answer.text) };
    },
  };

  const mcp = { fetch, secrets: settings.secrets, hide };

  async function act(
    { name, tool, values, servers = {}, start }: ToolCallRequest,
    limits: CallLimits,
  ): Promise<string> {
    switch (tool.kind) {
      case "http":
        return await performHttp({ fetch, secrets: settings.secrets }, tool, values, limits);
      case "function": {
        const registered = Object.hasOwn(functions, tool.function) ? functions[tool.function] : undefined;
        if (registered === undefined) {
          throw new ToolFailure(
            "TOOL_NOT_CONFIGURED",
            `No function '${tool.function}' is registered with this worker.`,
          );
        }
        return await callFunction(registered, values, limits);
      }
      case "declared":
        throw new ToolFailure("TOOL_NOT_CONFIGURED", `The tool '${name}' is only declared: nothing performs it.`);
      case "builtin":
        return await performBuiltin({ fetch, rules, builtins }, tool.builtin, values, limits);
      case "mcp": {
        const server = Object.hasOwn(servers, tool.server) ? servers[tool.server] : undefined;
        if (server === undefined)
          throw new ToolFailure("TOOL_NOT_CONFIGURED", `The workflow has no MCP server '${tool.server}'.`);
        await fetch.ready();
        return await callMcpTool({ ...mcp, start }, server, tool.tool, values, limits);
      }
      case "workflow":
        throw new ToolFailure(
          "TOOL_NOT_CONFIGURED",
          `The workflow '${tool.program}' is called by a model, or by CALL.`,
        );
      case "sandbox":
        throw new ToolFailure(
          "TOOL_NOT_CONFIGURED",
          `The tool '${name}' needs a sandbox session, which this step does not have.`,
        );
    }
  }

  async function resultOf(acting: () => Promise<string>, maxBytes: number, signal: AbortSignal): Promise<ToolResult> {
    try {
      const text = hide(await acting());
      if (Buffer.byteLength(text) > maxBytes) {
        const most = `${Math.floor(maxBytes / 1024)} KiB`;
        throw new ToolFailure("TOOL_TOO_LARGE", `The result is longer than ${most}.`);
      }
      return { ok: true, text };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = error instanceof ToolFailure ? error : new ToolFailure("TOOL_FAILED", messageOf(error));
      const message = hide(failure.message).slice(0, 1_000);
      return { ok: false, code: failure.code, message, passing: failure.passing };
    }
  }

  return {
    maxBytes: settings.maxBytes,
    has: (tool) => tool.kind !== "builtin" || builtins[tool.builtin] !== null,
    async perform(request) {
      const { tool, signal } = request;
      const timeoutMs = Math.min(tool.timeoutMs ?? settings.timeoutMs, settings.maxTimeoutMs);
      const limits = { timeoutMs, maxBytes: settings.maxBytes, signal };
      return await resultOf(() => act(request, limits), settings.maxBytes, signal);
    },
    async list({ server, tools, start, signal }) {
      const timeoutMs = Math.min(settings.timeoutMs, settings.maxTimeoutMs);
      const limits = { timeoutMs, maxBytes: mostListingBytes, signal };
      const listed = async () => {
        await fetch.ready();
        return JSON.stringify(await listMcpTools({ ...mcp, start }, server, tools, limits));
      };
      return await resultOf(listed, limits.maxBytes, signal);
    },
    close: () => fetch.close(),
  };
}

/** Bounded, because a model receives the listing with every question. */
const mostListingBytes = 256 * 1024;

/** Ends at the deadline, even if the function ignores its signal. */
async function callFunction(
  registered: ToolFunction,
  values: ArgumentValues,
  { timeoutMs, signal }: CallLimits,
): Promise<string> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const either = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const given = await new Promise<unknown>((resolve, reject) => {
    const late = () => {
      const why = new ToolFailure("TOOL_TIMEOUT", `The function did not end within ${timeoutMs} ms.`, true);
      reject(deadline.aborted ? why : either.reason);
    };
    if (either.aborted) return late();
    either.addEventListener("abort", late, { once: true });
    Promise.resolve()
      .then(() => registered(values, either))
      .then(resolve, reject)
      .finally(() => either.removeEventListener("abort", late));
  });
  return typeof given === "string" ? given : (JSON.stringify(given) ?? "");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
