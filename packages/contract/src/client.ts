/**
 * A client typed by the route table: `client.getRun({ params: { id } })`. It throws only ApiProblems.
 *
 * R1  A start, a retry or a grade event without an Idempotency-Key gets one, so that a repetition by R2 has no second effect.
 * R2  Repeatable requests (reads, and requests with such a key) are retried a few times when no answer came or the server reports that it
 *     is busy.
 */
import { type Follow, type FollowOptions, followEvents } from "./follow-events.ts";
import { ApiProblem } from "./problem-error.ts";
import { reach, unreachable } from "./reach.ts";
import type { Asking, Got, Route } from "./route.ts";
import { type RouteName, type Routes, routes } from "./routes.ts";

export interface ClientOptions {
  /** The server's address, such as http://127.0.0.1:8085. */
  readonly url: string;
  /** An API key. */
  readonly token?: string;
  readonly fetch?: typeof fetch;
  /** For all requests except streams and uploads. Default: 60 s. */
  readonly timeoutMs?: number;
  /** Waits between retries. */
  readonly patienceMs?: readonly number[];
}

/** @public */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The argument is optional for a route without required parts. */
type Arguments<R extends Route> =
  object extends Asking<R> ? [asking?: Asking<R>, options?: CallOptions] : [asking: Asking<R>, options?: CallOptions];

export type Client = {
  readonly [Name in Exclude<RouteName, "streamEvents" | "streamBatch">]: (
    ...given: Arguments<Routes[Name]>
  ) => Promise<Got<Routes[Name]>>;
} & {
  /** Returns every event of a run once and in order, over any number of broken connections. Ends with the run. */
  follow(runId: string, options?: FollowOptions): Follow;
};

interface Loose {
  readonly params?: Record<string, string | number>;
  readonly query?: Record<string, unknown>;
  readonly headers?: Record<string, unknown>;
  readonly body?: unknown;
}

export function createClient(options: ClientOptions): Client {
  const { url, token, fetch: ask = fetch, timeoutMs = 60_000, patienceMs = [200, 1_000, 3_000] } = options;
  const authority: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };

  async function once(
    route: Route,
    asking: Loose,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const upload = route.upload === true;
    const limits = upload ? [] : [AbortSignal.timeout(timeoutMs + waitOf(asking))];
    const response = await reach(ask, address(url, route, asking), {
      method: route.method,
      headers: {
        ...authority,
        ...headers,
        ...(upload ? { "content-type": "application/octet-stream" } : {}),
        ...(!upload && asking.body !== undefined ? { "content-type": "application/json" } : {}),
      },
      ...(asking.body === undefined
        ? {}
        : { body: upload ? (asking.body as Uint8Array<ArrayBuffer>) : JSON.stringify(asking.body) }),
      ...(upload ? { duplex: "half" as const } : {}),
      signal: AbortSignal.any([...limits, ...(signal === undefined ? [] : [signal])]),
    });
    try {
      switch (route.answer.kind) {
        case "json":
          return await response.json();
        case "text":
          return await response.text();
        case "bytes":
          return new Uint8Array(await response.arrayBuffer());
        default:
          await response.body?.cancel();
          return undefined;
      }
    } catch (error) {
      throw unreachable(error);
    }
  }

  async function call(route: Route, asking: Loose = {}, { signal }: CallOptions = {}): Promise<unknown> {
    const headers = namedHeaders(asking.headers);
    const keyed = route.headers !== undefined && "idempotency-key" in route.headers.shape;
    if (keyed) headers["idempotency-key"] ??= crypto.randomUUID();
    const waits = route.method === "GET" || keyed ? [...patienceMs] : [];
    for (;;) {
      try {
        return await once(route, asking, headers, signal);
      } catch (error) {
        const wait = waits.shift();
        if (wait === undefined || signal?.aborted === true || !(error instanceof ApiProblem) || !error.passes)
          throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  const calls = Object.fromEntries(
    Object.entries(routes).map(([name, route]) => [
      name,
      (asking?: Loose, callOptions?: CallOptions) => call(route as Route, asking, callOptions),
    ]),
  );
  const follow = (runId: string, followOptions?: FollowOptions) =>
    followEvents(
      { fetch: ask, url: address(url, routes.streamEvents, { params: { id: runId } }), headers: authority },
      followOptions,
    );
  return { ...calls, follow } as unknown as Client;
}

function waitOf({ query }: Loose): number {
  return typeof query?.waitMs === "number" ? query.waitMs : 0;
}

function address(base: string, route: Route, { params = {}, query = {} }: Loose): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? "")));
  const found = new URL(base.replace(/(?<!\/)\/+$/, "") + path);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) found.searchParams.append(name, String(one));
    }
  }
  return found.toString();
}

function namedHeaders(given: Record<string, unknown> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
