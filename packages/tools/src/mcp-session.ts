/**
 * A session with a server of the Model Context Protocol, over streamable HTTP or with a program (mcp-over-stdio.ts), for one listing or one
 * call.
 *
 * M1  Every request over HTTP uses the checked connection: the address rules apply, no redirect is followed, and nothing is sent a second
 *     time.
 * M2  One deadline covers the session from its first request to its result, as do one count of bytes and one of requests. They bound every
 *     behaviour of the server: hanging, slow output, flooding, requests back to us.
 * M3  Nothing is kept between calls, so kill -9 loses nothing. A program is started for the session and ended after it.
 * M4  The server's answers are text: none of its schemas is compiled here, and its requests to us (sampling, elicitation) are refused.
 */
import type { HttpServer, McpServer } from "@markmill/engine";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { type CheckedFetch, translated } from "./checked-fetch.ts";
import { type CallLimits, headersFor } from "./http-tool.ts";
import { JsonWeight } from "./json-weight.ts";
import { overStdio, type StartServer } from "./mcp-over-stdio.ts";
import type { Secrets } from "./secrets.ts";
import { ToolFailure } from "./tool-codes.ts";

export interface McpPorts {
  readonly fetch: CheckedFetch;
  readonly secrets: Secrets;
  /** Hides secrets. It is called before any text is cut: half a secret is a secret too. */
  readonly hide: (text: string) => string;
  /** Absent: there is no session in which a program could run. */
  readonly start?: StartServer | undefined;
}

/** Limits of M2. Answers are longer than the texts in them. */
const mostBytes = 4 * 1024 * 1024;
const mostRequests = 64;
/** How long to wait when no request is under way and there is no answer. */
const idleMs = 1_000;
const farewellMs = 1_000;

/** Asks the server. The answer is an object, and nothing more is known of it. */
type AskServer = (
  method: "tools/list" | "tools/call",
  params: Readonly<Record<string, unknown>>,
) => Promise<Readonly<Record<string, unknown>>>;

export async function withMcpServer<T>(
  ports: Omit<McpPorts, "hide">,
  server: McpServer,
  { timeoutMs, signal }: Omit<CallLimits, "maxBytes">,
  act: (ask: AskServer) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const late = () =>
    ending.abort(new ToolFailure("TOOL_TIMEOUT", `There was no whole answer within ${timeoutMs} ms.`, true));
  const deadline = setTimeout(late, timeoutMs);
  const stop = () => ending.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  // Our own deadline applies; the library's own must not come earlier.
  const options = { timeout: timeoutMs + 60_000 };
  let connection: Connection | null = null;
  let client: Client | null = null;
  let whole = false;
  try {
    const { Client: McpClient } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const made =
      server.transport === "http"
        ? await overHttp(ports, server, ending)
        : { transport: await overStdio(ports.start, server, { ending, mostBytes }), rest: () => undefined };
    const speaking = new McpClient(
      { name: "markmill", version: "0.1.0" },
      { capabilities: {}, jsonSchemaValidator: nothingCompiled },
    );
    connection = made;
    client = speaking;
    const result = await orEnding(ending.signal, async () => {
      await speaking.connect(made.transport, options);
      return await act((method, params) => speaking.request({ method, params }, ResultSchema, options));
    });
    whole = true;
    return result;
  } catch (error) {
    throw failureOf(error);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener("abort", stop);
    connection?.rest();
    const farewell = (whole ? connection?.farewell?.() : undefined) ?? Promise.resolve();
    const speaking = client;
    void withinTime(farewell, farewellMs).then(() => {
      ending.abort();
      return speaking?.close().catch(() => undefined);
    });
  }
}

interface Connection {
  readonly transport: Transport;
  /** From now on a silent server is no error. */
  rest(): void;
  /** Called after a complete session. */
  farewell?(): Promise<void>;
}

async function overHttp(
  { fetch, secrets }: Pick<McpPorts, "fetch" | "secrets">,
  { url, headers }: HttpServer,
  ending: AbortController,
): Promise<Connection> {
  const address = new URL(url);
  const sent = headersFor(headers ?? {}, address, secrets);
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const wire = createWire(fetch, ending);
  const transport = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: sent },
    fetch: wire.fetch,
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  });
  return {
    transport: transport as Transport,
    rest: wire.rest,
    farewell: async () => {
      if (transport.sessionId !== undefined) await transport.terminateSession();
    },
  };
}

interface Wire {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  rest(): void;
}

function createWire(checked: CheckedFetch, ending: AbortController): Wire {
  let bytes = 0;
  let requests = 0;
  let open = 0;
  let idle: NodeJS.Timeout | null = null;
  let resting = false;
  const begin = () => {
    open += 1;
    if (idle !== null) clearTimeout(idle);
  };
  const end = () => {
    open -= 1;
    if (open > 0 || resting) return;
    idle = setTimeout(
      () => ending.abort(new ToolFailure("TOOL_FAILED", "The server ended its answer without a result.", true)),
      idleMs,
    );
  };
  const weight = new JsonWeight();
  const count = (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      throw new ToolFailure("TOOL_TOO_LARGE", `The server sent more than ${mostBytes / 1024 / 1024} MiB.`);
    }
    const why = weight.add(chunk);
    if (why !== null) throw new ToolFailure("TOOL_TOO_LARGE", `What the server sent ${why}.`);
  };
  return {
    async fetch(url, init = {}) {
      const { method = "GET", body, headers } = init;
      // No stream besides the answers: everything about a call comes with its answer.
      if (method === "GET") return new Response(null, { status: 405 });
      requests += 1;
      if (requests > mostRequests) {
        ending.abort(new ToolFailure("TOOL_FAILED", `The server needs more than ${mostRequests} requests.`));
      }
      begin();
      try {
        const response = await checked.stream({
          method,
          url: String(url),
          headers: Object.fromEntries(new Headers(headers)),
          body: typeof body === "string" ? body : null,
          signal: ending.signal,
        });
        if (response.body === null) {
          end();
          return new Response(null, { status: response.status, headers: Object.fromEntries(response.headers) });
        }
        const counted = counting(response.body as ReadableStream<Uint8Array>, count, (error) => {
          end();
          if (error !== null) ending.abort(translated(error));
        });
        // A status without a body must be given no body.
        const empty = response.status === 204 || response.status === 304;
        if (empty) void counted.cancel();
        const plain = [...response.headers].filter(([name]) => !/^content-(?:encoding|length)$/i.test(name));
        return new Response(empty ? null : counted, { status: response.status, headers: plain });
      } catch (error) {
        end();
        throw error;
      }
    },
    rest() {
      resting = true;
      if (idle !== null) clearTimeout(idle);
    },
  };
}

/** Passes on the same bytes and sees each chunk. Calls `over` once, with the error if there was one. */
function counting(
  source: ReadableStream<Uint8Array>,
  see: (chunk: Uint8Array) => void,
  over: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  // If the reader cancels in the middle of a read, `over` is called too.
  let ended = false;
  const end = (error: unknown) => {
    if (!ended) over(error);
    ended = true;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (ended) return;
          if (done) {
            end(null);
            return controller.close();
          }
          see(value);
          controller.enqueue(value);
        } catch (error) {
          if (ended) return;
          end(error);
          controller.error(error);
          await reader.cancel().catch(() => undefined);
        }
      },
      async cancel(reason) {
        end(null);
        await reader.cancel(reason).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Compiles no schema (M4). */
const nothingCompiled: jsonSchemaValidator = {
  getValidator<Data>(): JsonSchemaValidator<Data> {
    return (input) => ({ valid: true, data: input as Data, errorMessage: undefined });
  },
};

async function orEnding<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const ended = () => reject(signal.reason);
    if (signal.aborted) return ended();
    signal.addEventListener("abort", ended, { once: true });
    act()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", ended));
  });
}

async function withinTime(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise.catch(() => undefined), over]);
  clearTimeout(timer);
}

/** Translates an error of the library. An abort of the caller stays unchanged. */
function failureOf(error: unknown): unknown {
  for (let inner: unknown = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ToolFailure) return inner;
  }
  if (!(error instanceof Error) || error.name === "AbortError") return error;
  // Codes inside the protocol belong to the server, even if they look like an HTTP status; only the transport's code is one.
  const code = "code" in error && typeof error.code === "number" ? error.code : null;
  const status = error.name !== "McpError" && code !== null && code >= 100 ? code : null;
  const said = error.message.replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, "");
  if (status !== null) {
    const passing = status === 429 || status >= 500;
    return new ToolFailure("TOOL_FAILED", `The server answered with status ${status}: ${said}`, passing);
  }
  return new ToolFailure("TOOL_FAILED", said);
}
