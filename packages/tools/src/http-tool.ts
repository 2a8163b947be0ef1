/** Performs an HTTP tool: one request per call. Any status other than 2xx is a failure. */
import type { HttpTool, ToolHeader } from "@markmill/engine";
import type { CheckedFetch, CheckedResponse } from "./checked-fetch.ts";
import { type ArgumentValues, fillUrl, textOf, urlPlaces, withQuery } from "./fill-url.ts";
import { type Secrets, secretFor } from "./secrets.ts";
import { ToolFailure } from "./tool-codes.ts";

export interface HttpPorts {
  readonly fetch: CheckedFetch;
  readonly secrets: Secrets;
}

export interface CallLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export async function performHttp(
  { fetch, secrets }: HttpPorts,
  tool: Pick<HttpTool, "method" | "url" | "headers" | "send">,
  values: ArgumentValues,
  limits: CallLimits,
): Promise<string> {
  const { method } = tool;
  const address = checkedParse(fillUrl(tool.url, values));
  const used = new Set(urlPlaces(tool.url));
  const rest = Object.entries(values).filter(([name]) => !used.has(name));
  const send = tool.send ?? (method === "POST" || method === "PUT" || method === "PATCH" ? "json" : "query");
  // A query cannot express null; JSON can.
  const parameters = rest
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => [name, textOf({ one }, "one")] as const),
    );
  const url = new URL(send === "query" ? withQuery(address, parameters) : address);
  const body = send === "json" ? JSON.stringify(Object.fromEntries(rest)) : null;
  const headers = {
    accept: "application/json, text/*;q=0.9, */*;q=0.1",
    ...(body === null ? {} : { "content-type": "application/json" }),
    ...headersFor(tool.headers ?? {}, url, secrets),
  };
  return successOf(await fetch.request({ method, url: url.href, headers, body, ...limits }));
}

/** Inserts the values of secrets, if the operator allows them for this host. */
export function headersFor(
  headers: Readonly<Record<string, ToolHeader>>,
  url: URL,
  secrets: Secrets,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : `${value.before ?? ""}${secretFor(secrets, value.secret, url)}`,
    ]),
  );
}

export function successOf({ status, contentType, text }: CheckedResponse): string {
  if (status < 200 || status > 299) {
    const said = text.trim().slice(0, 500);
    const passing = status === 429 || status >= 500;
    throw new ToolFailure(
      "TOOL_FAILED",
      `It answered with status ${status}${said === "" ? "." : `: ${said}`}`,
      passing,
    );
  }
  if (/^(?:image|audio|video|font)\/|octet-stream|zip|pdf/i.test(contentType)) {
    throw new ToolFailure("TOOL_FAILED", `It answered with ${contentType}, which is no text.`);
  }
  return text;
}

function checkedParse(url: string): string {
  if (!URL.canParse(url)) throw new ToolFailure("TOOL_ARGUMENTS", "The arguments make no valid address.");
  return url;
}
