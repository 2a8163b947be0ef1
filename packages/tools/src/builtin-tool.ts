/**
 * The built-in tools that workflows use by name: searches, pages, stocks. Each one sends a request to an endpoint that the operator
 * configures; without configuration it is off. Keys are sent only to that endpoint.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type BuiltinName, parseShallow } from "@markmill/engine";
import type { AddressRules } from "./address-rules.ts";
import type { CheckedFetch } from "./checked-fetch.ts";
import { type ArgumentValues, fillUrl, textOf, withQuery } from "./fill-url.ts";
import { type CallLimits, successOf } from "./http-tool.ts";
import { headingsAndParagraphs, searchResults } from "./read-page.ts";
import { ToolFailure } from "./tool-codes.ts";

interface BuiltinEndpoint {
  readonly url: string;
  readonly key: string | null;
}

/** null: off. The scraper requests the pages themselves, so its endpoint is ignored. */
export type BuiltinSettings = Readonly<Record<BuiltinName, BuiltinEndpoint | null>>;

export interface BuiltinPorts {
  readonly fetch: CheckedFetch;
  readonly rules: AddressRules;
  readonly builtins: BuiltinSettings;
}

/** The maximum size of a page. It is larger than the text that is used of it. */
const pageBytes = 4 * 1024 * 1024;

export async function performBuiltin(
  { fetch, rules, builtins }: BuiltinPorts,
  name: BuiltinName,
  values: ArgumentValues,
  limits: CallLimits,
): Promise<string> {
  const endpoint = builtins[name];
  if (endpoint === null) {
    throw new ToolFailure("TOOL_NOT_CONFIGURED", `The built-in tool ${name} is off: ${settingOf[name]} is not set.`);
  }
  const { url, key } = endpoint;
  const ask = async (request: { url: string; body?: object; headers?: Record<string, string> }) =>
    successOf(
      await fetch.request({
        ...limits,
        method: request.body === undefined ? "GET" : "POST",
        url: request.url,
        headers: { ...request.headers, ...(request.body === undefined ? {} : { "content-type": "application/json" }) },
        body: request.body === undefined ? null : JSON.stringify(request.body),
        maxBytes: pageBytes,
      }),
    );
  const cut = (text: string) => cutTo(text, limits.maxBytes);
  const base = url.replace(/(?<!\/)\/+$/, "");
  switch (name) {
    case "serper": {
      const kind = textOf(values, "search_type") || "search";
      const count = typeof values.n_results === "number" ? Math.min(values.n_results, 10) : 5;
      const body = { q: textOf(values, "query"), hl: textOf(values, "lang") || "en", num: count };
      return cut(blocksOf(await ask({ url: `${base}/${kind}`, body, headers: keyHeader("x-api-key", key) }), count));
    }
    case "duckduckgo": {
      const at = withQuery(url, [["q", textOf(values, "query")]]);
      const page = await ask({ url: at });
      refuseError(page);
      return cut(JSON.stringify((await searchResults(page)).slice(0, 10)));
    }
    case "jina": {
      const page = await checkedPage(textOf(values, "website"), rules);
      return cut(await ask({ url: `${base}/${page}`, headers: keyHeader("authorization", key, "Bearer ") }));
    }
    case "browserless": {
      const page = await checkedPage(textOf(values, "website"), rules);
      const at = withQuery(`${base}/content`, key === null ? [] : [["token", key]]);
      return cut(await headingsAndParagraphs(await ask({ url: at, body: { url: page } })));
    }
    case "scraper": {
      const page = await ask({ url: await checkedPage(textOf(values, "website"), rules) });
      return cut(await headingsAndParagraphs(page));
    }
    case "stock":
      return cut(await ask({ url: fillUrl(url, values), headers: keyHeader("authorization", key, "Bearer ") }));
  }
}

const settingOf: Readonly<Record<BuiltinName, string>> = {
  serper: "TOOL_SERPER_KEY",
  duckduckgo: "TOOL_DUCKDUCKGO_URL",
  jina: "TOOL_JINA_URL",
  browserless: "TOOL_BROWSERLESS_URL",
  scraper: "TOOL_SCRAPER",
  stock: "TOOL_STOCK_URL",
};

function keyHeader(name: string, key: string | null, before = ""): Record<string, string> {
  return key === null ? {} : { [name]: before + key };
}

/**
 * Checks a page that another service will open for us: its address must be public, as far as we can see. (The service resolves the name
 * again. A service inside a network must be restricted by other means.)
 */
async function checkedPage(website: string, rules: AddressRules): Promise<string> {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(website) ? website : `https://${website}`;
  if (!URL.canParse(text)) throw new ToolFailure("TOOL_ARGUMENTS", "The website is no address.");
  const page = new URL(text);
  if (!/^https?:$/.test(page.protocol) || page.username !== "" || page.password !== "") {
    throw new ToolFailure("TOOL_ADDRESS_REFUSED", "Only plain http and https addresses can be read.");
  }
  const host = page.hostname.replace(/^\[|\]$/g, "");
  const port = page.port === "" ? (page.protocol === "https:" ? 443 : 80) : Number(page.port);
  const addresses = isIP(host) === 0 ? await resolved(host) : [host];
  if (addresses.some((address) => !rules.mayReach(address, port))) {
    throw new ToolFailure(
      "TOOL_ADDRESS_REFUSED",
      `${host}, port ${port}, is not public and not allowed by TOOL_ALLOW.`,
    );
  }
  return page.href;
}

async function resolved(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    throw new ToolFailure("TOOL_FAILED", `The name ${host} is not known.`, true);
  }
}

/** A service may report a failure with status 200; its own message is then the failure. */
function refuseError(text: string): void {
  if (!text.trimStart().startsWith("{")) return;
  let answer: Readonly<Record<string, unknown>>;
  try {
    answer = parseShallow(text) as Readonly<Record<string, unknown>>;
  } catch {
    return;
  }
  const { error, errors, message, statusCode, status } = answer;
  const code = Number(statusCode ?? status);
  const told = [error, errors, message].some((one) =>
    typeof one === "string" ? one.trim() !== "" : one != null && one !== false,
  );
  if (!told && !(code >= 400)) return;
  throw new ToolFailure(
    "TOOL_FAILED",
    `The search answered with an error: ${text.trim().slice(0, 500)}`,
    code === 429 || code >= 500,
  );
}

/** Formats title, link, snippet, date and position of each result as a block. An answer without a known list stays unchanged. */
function blocksOf(text: string, most: number): string {
  let answer: unknown;
  try {
    answer = parseShallow(text);
  } catch {
    throw new ToolFailure("TOOL_FAILED", "The search answered with something that is no JSON.");
  }
  const { organic, news } = (typeof answer === "object" && answer !== null ? answer : {}) as Record<string, unknown>;
  const results: unknown = organic ?? news;
  if (results === undefined) {
    refuseError(text);
    return text;
  }
  const blocks = (Array.isArray(results) ? results : []).slice(0, most).map((one: unknown) => {
    const result = (typeof one === "object" && one !== null ? one : {}) as Record<string, unknown>;
    return ["title", "link", "snippet", "date", "position"]
      .flatMap((field) => (result[field] === undefined ? [] : [`${field}: ${String(result[field])}`]))
      .join("\n");
  });
  return blocks.join("\n\n");
}

function cutTo(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const note = "\n[... cut]";
  return (
    bytes
      .subarray(0, maxBytes - note.length)
      .toString()
      .replace(/\uFFFD{1,3}$/, "") + note
  );
}
