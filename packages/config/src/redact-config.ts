// Removes the credentials from a configuration for screens and logs.
import type { Config, TelemetrySettings } from "./config.ts";

const hidden = "***";
const secretParameter = /pass|pwd|secret|token|key|auth|sig|cred/i;

/**
 * Hides the password of a URL and parameters that carry a credential. Text that is no URL is hidden completely, because it may be anything.
 */
export function redactUrl(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return hidden;
  // A Postgres socket address may lack the host that the URL standard requires.
  if (!URL.canParse(text)) return text.includes("@/") ? redactUrl(text.replace("@/", "@localhost/")) : hidden;
  const url = new URL(text);
  // Endpoints also accept a token as the user name; a database's user name is no secret.
  const token = url.password === "" && url.username !== "" && /^https?:$/.test(url.protocol);
  if (token) url.username = hidden;
  if (url.password !== "") url.password = hidden;
  for (const name of [...url.searchParams.keys()]) {
    if (secretParameter.test(name)) url.searchParams.set(name, hidden);
  }
  return url.href;
}

export function redactConfig(config: Config): Config {
  return {
    ...config,
    database:
      config.database.kind === "external"
        ? { ...config.database, url: redactUrl(config.database.url) }
        : config.database,
    queue: config.queue.backend === "redis" ? { ...config.queue, url: redactUrl(config.queue.url) } : config.queue,
    git: config.git.token === undefined ? config.git : { ...config.git, token: { ...config.git.token, value: hidden } },
    blobs: { ...config.blobs, s3: config.blobs.s3 === null ? null : redactBucket(config.blobs.s3) },
    models: {
      ...config.models,
      baseUrl: redactUrl(config.models.baseUrl),
      apiKey: config.models.apiKey === null ? null : hidden,
    },
    server: config.server === null ? null : { ...config.server, token: config.server.token === null ? null : hidden },
    sandbox: { ...config.sandbox, hosts: config.sandbox.hosts.map(redactUrl) },
    tools: {
      ...config.tools,
      secrets: Object.fromEntries(
        Object.entries(config.tools.secrets).map(([name, secret]) => [name, { ...secret, value: hidden }]),
      ),
      builtins: redactBuiltins(config.tools.builtins),
    },
    telemetry: config.telemetry === null ? null : redactTelemetry(config.telemetry),
    workflowEnvironment: Object.fromEntries(Object.keys(config.workflowEnvironment).map((name) => [name, hidden])),
  };
}

function redactBuiltins(builtins: Config["tools"]["builtins"]): Config["tools"]["builtins"] {
  const shown = Object.entries(builtins).map(([name, endpoint]) => [
    name,
    endpoint === null ? null : { url: endpoint.url, key: endpoint.key === null ? null : hidden },
  ]);
  return Object.fromEntries(shown) as Config["tools"]["builtins"];
}

function redactTelemetry(telemetry: TelemetrySettings): TelemetrySettings {
  const { tracesUrl, metricsUrl, headers } = telemetry;
  return {
    ...telemetry,
    tracesUrl: tracesUrl === null ? null : redactUrl(tracesUrl),
    metricsUrl: metricsUrl === null ? null : redactUrl(metricsUrl),
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, hidden])),
  };
}

function redactBucket(bucket: NonNullable<Config["blobs"]["s3"]>): NonNullable<Config["blobs"]["s3"]> {
  const { endpoint, credentials } = bucket;
  return {
    ...bucket,
    endpoint: endpoint === null ? null : redactUrl(endpoint),
    credentials: credentials === null ? null : { accessKeyId: hidden, secretAccessKey: hidden },
  };
}

/** Removes credentials from any text that is shown to a person: those of the configuration, and those inside other addresses. */
export function redactText(text: string, config: Config | null): string {
  let shown = text.replaceAll(/[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>`]+/gi, (address) =>
    /@|[?&;]/.test(address) ? redactAddress(address) : address,
  );
  const secrets = config === null ? [] : secretsOf(config);
  for (const secret of secrets.sort((one, other) => other.length - one.length))
    shown = shown.replaceAll(secret.length < wordsBelow ? wordOf(secret) : secret, hidden);
  return shown;
}

/** The punctuation of a sentence may follow an address inside it. */
function redactAddress(written: string): string {
  let end = written.length;
  while (end > 0 && ".,;:!)]".includes(written[end - 1] ?? " ")) end -= 1;
  return redactUrl(written.slice(0, end)) + written.slice(end);
}

/** Shorter values are no secrets; hiding them would blank out half of every sentence. */
const shortest = 4;

/** A shorter secret is hidden only as a separate word: the key "test" does not change "latest". */
const wordsBelow = 12;

/** A word may follow an escaped line break, as JSON writes one. */
function wordOf(secret: string): RegExp {
  const escaped = secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}_])|(?<=\\\\[nrt]))${escaped}(?![\\p{L}\\p{N}_])`, "gu");
}

function secretsOf(config: Config): string[] {
  const addresses = [
    ...(config.database.kind === "external" ? [config.database.url] : []),
    ...(config.queue.backend === "redis" ? [config.queue.url] : []),
    ...(config.blobs.s3?.endpoint == null ? [] : [config.blobs.s3.endpoint]),
    config.models.baseUrl,
    ...config.sandbox.hosts,
    ...[config.telemetry?.tracesUrl, config.telemetry?.metricsUrl].map((url) => url ?? ""),
  ];
  const keys = [
    ...[config.models.apiKey, config.server?.token],
    ...Object.values(config.blobs.s3?.credentials ?? {}),
    config.git.token?.value,
    ...Object.values(config.tools.secrets).map(({ value }) => value),
    ...Object.values(config.tools.builtins).map((endpoint) => endpoint?.key),
    // A scheme such as Bearer is no secret; the value after it is.
    ...Object.values(config.telemetry?.headers ?? {}).flatMap((value) => [value, value.replace(/^\w+\s+/, "")]),
  ];
  const found = [...keys.map((key) => key ?? ""), ...Object.values(config.workflowEnvironment)];
  for (const address of addresses) {
    const text = URL.canParse(address) ? address : address.replace("@/", "@localhost/");
    if (!URL.canParse(text)) continue;
    const { password, username, protocol, searchParams } = new URL(text);
    const named = /^https?:$/.test(protocol) ? [username] : [];
    const queried = [...searchParams].filter(([name]) => secretParameter.test(name)).map(([, value]) => value);
    for (const one of [password, ...named, ...queried]) found.push(one, decoded(one));
  }
  // Also hides the escaped form, which a line of a log contains.
  const written = found.map((secret) => JSON.stringify(secret).slice(1, -1));
  return [...new Set([...found, ...written])].filter((secret) => secret.length >= shortest);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
