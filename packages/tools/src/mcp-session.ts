/**
 * A session with a server of the Model Context Protocol, over streamable HTTP or with a program (mcp-over-stdio.ts), for one listing or one call.
 *
 * M1  Every request over HTTP goes through the checked connection: the address rules hold, no redirect is followed, nothing is sent a second time.
 * M2  One deadline covers the session from its first request to its result; so do one count of bytes and one of requests. Whatever
 *     the server does, hanging, dripping, flooding, asking back, ends there.
 * M3  What a session began is over with it: nothing is kept between calls, so there is nothing to lose by kill -9. A program is started for
 *     it and ended after it.
 * M4  The server's word is text: none of its schemas is compiled here, and what it asks of us (to sample, to elicit) is refused.
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
  /** Before anything is cut: half a secret is a secret too. */
  readonly hide: (text: string) => string;
  /** Absent: there is no session where one could run. */
  readonly start?: StartServer | undefined;
}

/** M2. Answers are longer than the texts in them. */
const mostBytes = 4 * 1024 * 1024;
const mostRequests = 64;
/** Nothing is on its way any more, and there is no answer. */
const idleMs = 1_000;
const farewellMs = 1_000;

export async function withMcpServer<T>(
  ports: Omit<McpPorts, "hide">,
  server: McpServer,
  { timeoutMs, signal }: Omit<CallLimits, "maxBytes">,
  act: (client: Client, options: { readonly timeout: number }) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const late = () =>
    ending.abort(new ToolFailure("TOOL_TIMEOUT", `There was no whole answer within ${timeoutMs} ms.`, true));
  const deadline = setTimeout(late, timeoutMs);
  const stop = () => ending.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  // The deadline is ours: the library's own must not come before it.
  const options = { timeout: timeoutMs + 60_000 };
  let connection: Connection | null = null;
  let client: Client | null = null;
  let whole = false;
  try {
    const { Client: McpClient } = await import("@modelcontextprotocol/sdk/client/index.js");
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
      return await act(speaking, options);
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
  /** Silence is no trouble any more. */
  rest(): void;
  /** After a whole session. */
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
      // No stream beside the answers: whatever concerns a call comes with its answer.
      if (method === "GET") return new Response(null, { status: 405 });
      requests += 1;
      if (requests > mostRequests) {
        ending.abort(new ToolFailure("TOOL_FAILED", `The server needs more than ${mostRequests} requests.`));
      }
      begin();
      try {
        const response = await checked.stream({
          ...{ method, url: String(url), headers: Object.fromEntries(new Headers(headers)) },
          ...{ body: typeof body === "string" ? body : null, signal: ending.signal },
        });
        if (response.body === null) {
          end();
          return new Response(null, { status: response.status, headers: Object.fromEntries(response.headers) });
        }
        const counted = counting(response.body as ReadableStream<Uint8Array>, count, (error) => {
          end();
          if (error !== null) ending.abort(translated(error));
        });
        // A status that has no body must be given none.
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

/** The same bytes, each chunk seen; `over` is told once, with what broke it. */
function counting(
  source: ReadableStream<Uint8Array>,
  see: (chunk: Uint8Array) => void,
  over: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  // A reader that goes in the middle of a read is told of its end, too.
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

/** M4. */
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

/** What the library throws, in our words. An abort of the caller stays what it is. */
function failureOf(error: unknown): unknown {
  for (let inner: unknown = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ToolFailure) return inner;
  }
  if (!(error instanceof Error) || error.name === "AbortError") return error;
  // Codes inside the protocol are the server's own, whatever number they have; only the transport's is a status of HTTP.
  const code = "code" in error && typeof error.code === "number" ? error.code : null;
  const status = error.name !== "McpError" && code !== null && code >= 100 ? code : null;
  const said = error.message.replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, "");
  if (status !== null) {
    const passing = status === 429 || status >= 500;
    return new ToolFailure("TOOL_FAILED", `The server answered with status ${status}: ${said}`, passing);
  }
  return new ToolFailure("TOOL_FAILED", said);
}
