/**
 * Sends one free request to an endpoint before a run starts: GET /models. It detects a wrong address and a wrong key.
 *
 * P1  Temporary trouble (429, 5xx, a slow reply) gives no verdict: the calls themselves wait for its end.
 * P2  An endpoint that does not list its models gives no verdict either. The address is wrong only if the list is found one folder deeper,
 *     at /v1.
 * P3  A key that may use models but may not list them is not a wrong key.
 */
import { parseJson } from "./json-in-reply.ts";
import { keyHeaders } from "./key-headers.ts";
import { redactorOf } from "./redact-key.ts";

type EndpointVerdict =
  | { readonly is: "usable"; readonly models: readonly string[] }
  /** No verdict: nothing is known, and nothing suggests a problem. */
  | { readonly is: "unknown" }
  | { readonly is: "refused"; readonly code: EndpointTrouble; readonly why: string };

type EndpointTrouble = "MODEL_KEY_REFUSED" | "MODEL_KEY_MISSING" | "MODEL_UNREACHABLE" | "MODEL_REPLY_HTML";

interface EndpointProbe {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** The same option as in the model client. */
  readonly keyHeader?: string;
  readonly timeoutMs?: number;
}

const mostBytes = 4 * 1024 * 1024;

export async function probeEndpoint(probe: EndpointProbe): Promise<EndpointVerdict> {
  const { baseUrl, apiKey, timeoutMs = 10_000 } = probe;
  const [address = "", query] = baseUrl.split("?", 2);
  const base = address.replace(/(?<!\/)\/+$/, "");
  const ask = (path: string) => {
    const url = query === undefined ? path : `${path}?${query}`;
    return get(url, keyHeaders(apiKey, probe.keyHeader), timeoutMs);
  };
  const first = await ask(`${base}/models`);
  if (first.is === "unreachable") return { is: "refused", code: "MODEL_UNREACHABLE", why: `${base}: ${first.why}` };
  if (first.is === "nothing") return { is: "unknown" };
  const { status, text, html } = first;
  if (status === 401 || (status === 403 && wrongKey.test(text))) {
    if (/missing scopes|insufficient permissions/i.test(text)) return { is: "unknown" };
    const why = redactorOf(apiKey ?? undefined, "failure")(messageOf(text));
    return {
      is: "refused",
      code: apiKey === null ? "MODEL_KEY_MISSING" : "MODEL_KEY_REFUSED",
      why: `${base}: ${status} ${why}`,
    };
  }
  if (status === 200 && !html) {
    const models = namesIn(text);
    return models === null ? { is: "unknown" } : { is: "usable", models };
  }
  if (status !== 200 && status !== 404) return { is: "unknown" };
  const deeper = await ask(`${base}/v1/models`);
  const isDeeper = deeper.is === "answered" && !deeper.html && (deeper.status === 401 || namesIn(deeper.text) !== null);
  if (isDeeper)
    return { is: "refused", code: "MODEL_REPLY_HTML", why: `${base} is no API path; ${base}/v1 answers as one` };
  return html && status === 200
    ? { is: "refused", code: "MODEL_REPLY_HTML", why: `${base}/models is a web page` }
    : { is: "unknown" };
}

const wrongKey =
  /(invalid|incorrect|wrong|unknown|expired)[^.]{0,20}(api[ _-]?key|token)|api[ _-]?key[^.]{0,20}(invalid|not valid|incorrect|expired)/i;

type Answer =
  | { readonly is: "answered"; readonly status: number; readonly text: string; readonly html: boolean }
  | { readonly is: "unreachable"; readonly why: string }
  | { readonly is: "nothing" };

/** Errors of addresses that cannot be reached. All other trouble may end without a change. */
const nowhere =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_TLS_CERT_ALTNAME_INVALID|UND_ERR_CONNECT_TIMEOUT)$/;

async function get(url: string, key: Record<string, string>, timeoutMs: number): Promise<Answer> {
  try {
    const headers = { accept: "application/json", ...key };
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    const text = await textOf(response);
    const html = /\bhtml\b/.test(response.headers.get("content-type") ?? "") || /^\s*<(!doctype|html)/i.test(text);
    return { is: "answered", status: response.status, text, html };
  } catch (error) {
    const code = codeOf(error);
    return code !== null && nowhere.test(code) ? { is: "unreachable", why: code } : { is: "nothing" };
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function codeOf(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at instanceof AggregateError ? at.errors[0] : at.cause)
    if ("code" in at && typeof at.code === "string") return at.code;
  return null;
}

/** null: the text is not a list of models. */
function namesIn(text: string): readonly string[] | null {
  const read = parsed(text) as { readonly data?: unknown } | null;
  if (!Array.isArray(read?.data)) return null;
  return read.data.flatMap((one: { readonly id?: unknown } | null) => (typeof one?.id === "string" ? one.id : []));
}

function messageOf(text: string): string {
  const read = parsed(text) as { readonly error?: { readonly message?: unknown }; readonly message?: unknown } | null;
  const said = read?.error?.message ?? read?.message;
  const line = (typeof said === "string" ? said : text).replaceAll(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

function parsed(text: string): unknown {
  const read = parseJson(text);
  return "value" in read ? read.value : null;
}
