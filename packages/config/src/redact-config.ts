// For screens and logs: everything of a configuration but its credentials.
import type { Config } from "./config.ts";

const hidden = "***";

/** A URL without its password and without parameters that carry one. Text that is no URL may be anything: all of it goes. */
export function redactUrl(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return hidden;
  // A socket address of Postgres may lack the host that the URL standard asks for.
  if (!URL.canParse(text)) return text.includes("@/") ? redactUrl(text.replace("@/", "@localhost/")) : hidden;
  const url = new URL(text);
  if (url.password !== "") url.password = hidden;
  for (const name of [...url.searchParams.keys()]) {
    if (/pass|secret|token|key|auth/i.test(name)) url.searchParams.set(name, hidden);
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
    models: {
      ...config.models,
      baseUrl: redactUrl(config.models.baseUrl),
      apiKey: config.models.apiKey === null ? null : hidden,
    },
    sandbox: { ...config.sandbox, hosts: config.sandbox.hosts.map(redactUrl) },
    workflowEnvironment: Object.fromEntries(Object.keys(config.workflowEnvironment).map((name) => [name, hidden])),
  };
}
