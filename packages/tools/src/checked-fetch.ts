/**
 * Sends the requests of tools, only to allowed addresses and within limits of time and size.
 *
 * R1  The connection itself resolves a name, once. Every address of the name must be allowed, and the connection uses one of these
 *     addresses. A changed answer in between (DNS rebinding) has no effect.
 * R2  Each redirect is checked like the first address. Headers of the tool are sent only to their intended origin.
 * R3  Only reading requests follow redirects: a request that may change data is sent to one address, once.
 * R4  One deadline covers the whole request up to the last byte. A body is refused as soon as it is too large, also after decompression.
 */
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { Agent, buildConnector, fetch as Fetch, Response } from "undici";
import type { AddressRules } from "./address-rules.ts";
import { ToolFailure } from "./tool-codes.ts";

interface CheckedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface CheckedResponse {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** One request whose body is read later. The caller enforces the deadline through the signal, and counts the bytes. */
interface StreamedRequest extends Omit<CheckedRequest, "timeoutMs" | "maxBytes"> {
  readonly signal: AbortSignal;
}

export interface CheckedFetch {
  /** Loads the modules for requests, so that loading is not charged to a request's time. */
  ready(): Promise<void>;
  request(request: CheckedRequest): Promise<CheckedResponse>;
  /** Follows no redirect. */
  stream(request: StreamedRequest): Promise<Response>;
  close(): Promise<void>;
}

interface Client {
  readonly fetch: typeof Fetch;
  readonly agent: Agent;
}

const mostRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createCheckedFetch(rules: AddressRules): CheckedFetch {
  // Loaded with the first request: it is a hundred modules, and most processes send no requests.
  let opened: Promise<Client> | undefined;
  const client = () => {
    opened ??= openClient(rules);
    return opened;
  };

  async function follow(
    { fetch, agent }: Client,
    request: CheckedRequest,
    signal: AbortSignal,
  ): Promise<CheckedResponse> {
    let url = checkedUrl(request.url, rules);
    let { method, headers } = request;
    const { origin } = url;
    for (let hop = 0; ; hop += 1) {
      const response = await fetch(url, {
        method,
        headers: url.origin === origin ? headers : {},
        redirect: "manual",
        body: method === request.method ? request.body : null,
        signal,
        dispatcher: agent,
      });
      const location = response.headers.get("location");
      if (!redirects.has(response.status) || location === null) return await readResponse(response, request.maxBytes);
      await response.body?.cancel();
      const reading = method === "GET" || method === "HEAD";
      if (!reading && response.status !== 303) throw notFollowed(url, method, response.status);
      if (hop === mostRedirects) throw new ToolFailure("TOOL_FAILED", `More than ${mostRedirects} redirects.`);
      if (!URL.canParse(location, url.href))
        throw new ToolFailure("TOOL_FAILED", "It redirects to an invalid address.");
      url = checkedUrl(new URL(location, url).href, rules);
      if (!reading) {
        method = "GET";
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name)));
      }
    }
  }

  return {
    async ready() {
      await client();
    },
    async request(request) {
      const loaded = await client();
      const deadline = AbortSignal.timeout(request.timeoutMs);
      const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
      try {
        return await follow(loaded, request, signal);
      } catch (error) {
        if (request.signal?.aborted === true) throw error;
        if (deadline.aborted) {
          throw new ToolFailure("TOOL_TIMEOUT", `There was no whole answer within ${request.timeoutMs} ms.`, true);
        }
        throw translated(error);
      }
    },
    async stream({ method, url: given, headers, body, signal }) {
      try {
        const { fetch, agent } = await client();
        const url = checkedUrl(given, rules);
        const response = await fetch(url, { method, headers, redirect: "manual", body, signal, dispatcher: agent });
        if (!redirects.has(response.status)) return response;
        await response.body?.cancel();
        throw notFollowed(url, method, response.status);
      } catch (error) {
        throw signal.aborted ? error : translated(error);
      }
    },
    async close() {
      if (opened !== undefined) await (await opened).agent.destroy();
    },
  };
}

/** Its connections use only addresses that the rules allow (R1). */
async function openClient(rules: AddressRules): Promise<Client> {
  const { Agent, buildConnector, fetch } = await import("undici");
  const connectors = new Map<number, buildConnector.connector>();
  const connectorAt = (port: number) => {
    const known = connectors.get(port) ?? buildConnector({ lookup: checkedLookup(rules, port), timeout: 10_000 });
    if (connectors.size < 100) connectors.set(port, known);
    return known;
  };
  const agent = new Agent({
    connect: (options, done) =>
      connectorAt(Number(options.port) || (options.protocol === "https:" ? 443 : 80))(options, done),
    // The deadline of the request is the limit.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 64 * 1024,
    pipelining: 1,
  });
  return { fetch, agent };
}

/** A literal address is checked before the connection, a name by the connection (R1). */
function checkedUrl(text: string, rules: AddressRules): URL {
  if (!URL.canParse(text)) throw new ToolFailure("TOOL_FAILED", "The address is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ToolFailure("TOOL_ADDRESS_REFUSED", `Only http and https can be reached, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ToolFailure("TOOL_ADDRESS_REFUSED", "An address must not contain a user name or password.");
  }
  url.hash = "";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !rules.mayReach(host, portOf(url))) throw refused(host, portOf(url));
  return url;
}

function notFollowed({ origin }: URL, method: string, status: number): ToolFailure {
  return new ToolFailure(
    "TOOL_FAILED",
    `${origin} answered a ${method} with a redirect (${status}), which is not followed.`,
  );
}

const portOf = (url: URL) => (url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port));

function refused(address: string, port: number): ToolFailure {
  return new ToolFailure(
    "TOOL_ADDRESS_REFUSED",
    `${address}, port ${port}, is not public and not allowed by TOOL_ALLOW.`,
  );
}

function checkedLookup(rules: AddressRules, port: number): LookupFunction {
  return (hostname, { family, hints }, callback) => {
    lookup(hostname, { all: true, family: family ?? 0, hints: hints ?? 0 }, (error, addresses) => {
      const bad = addresses?.find(({ address }) => !rules.mayReach(address, port));
      const why = error ?? (bad === undefined ? null : refused(`${hostname} (${bad.address})`, port));
      callback(why as NodeJS.ErrnoException | null, why === null ? addresses : []);
    });
  };
}

async function readResponse(response: Response, maxBytes: number): Promise<CheckedResponse> {
  const contentType = response.headers.get("content-type") ?? "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new ToolFailure("TOOL_TOO_LARGE", `The answer is longer than ${Math.floor(maxBytes / 1024)} KiB.`);
    }
    chunks.push(chunk);
  }
  return { status: response.status, contentType, text: new TextDecoder().decode(Buffer.concat(chunks)) };
}

/** The underlying network error: undici wraps it. */
export function translated(error: unknown): unknown {
  for (let inner: unknown = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ToolFailure) return inner;
  }
  if (!(error instanceof Error)) return error;
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  return new ToolFailure("TOOL_FAILED", `The request failed: ${code}.`, true);
}
