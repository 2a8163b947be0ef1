/** The connections to model endpoints. Requests that are read whole and streamed ones share them. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";

/**
 * undici gives up after 300 s without headers, or between two pieces of a body. A model that thinks for long exceeds both: 0 is no
 * limit. The caller's signal is the limit. HTTP/1.1 alone is spoken, as Node's own fetch does.
 */
const settings = { headersTimeout: 0, bodyTimeout: 0, allowH2: false } as const;

/** Node was told to take proxies from the environment. */
const usesProxies =
  process.env.NODE_USE_ENV_PROXY === "1" ||
  [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")].includes("--use-env-proxy");

export const connections: Dispatcher = usesProxies
  ? new EnvHttpProxyAgent({ ...settings, proxyTunnel: true })
  : new Agent(settings);
