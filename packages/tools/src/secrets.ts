/**
 * The operator's secrets that headers of tools may name. A workflow names a secret and a host, and any user may write a workflow. So the
 * operator configures the hosts of each secret. A secret is sent to no other host, and only over https unless the operator allows http.
 * Results of tools never show a secret.
 */
import { ToolFailure } from "./tool-codes.ts";

interface Secret {
  readonly value: string;
  /** Hosts, with a port if it is not the default one. The prefix `http://` allows unencrypted requests. */
  readonly hosts: readonly string[];
}

export type Secrets = Readonly<Record<string, Secret>>;

export function secretFor(secrets: Secrets, name: string, url: URL): string {
  const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  if (secret === undefined) {
    throw new ToolFailure("TOOL_NOT_CONFIGURED", `The secret '${name}' is not among those of TOOL_SECRETS.`);
  }
  const hosts = secret.hosts.map((host) => host.toLowerCase());
  const there = url.protocol === "https:" ? url.host : `http://${url.host}`;
  if (!hosts.includes(there)) {
    throw new ToolFailure("TOOL_NOT_CONFIGURED", `TOOL_SECRETS does not let the secret '${name}' go to ${there}.`);
  }
  return secret.value;
}

/** Hiding shorter values would blank out half of every text. */
const shortest = 4;

/** A shorter secret is hidden only as a separate word: the secret "test" does not change "latest". */
const wordsBelow = 12;

/** A word may follow an escaped line break, as JSON writes one. */
function wordOf(value: string): RegExp {
  const escaped = value.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}_])|(?<=\\\\[nrt]))${escaped}(?![\\p{L}\\p{N}_])`, "gu");
}

/** Hides the values in plain form and in the forms of URLs and JSON. */
export function hideSecrets(values: readonly string[]): (text: string) => string {
  const spelled = values
    .filter(({ length }) => length >= shortest)
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]);
  const longestFirst = [...new Set(spelled)].sort((one, other) => other.length - one.length);
  const sought = longestFirst.map((value) => (value.length < wordsBelow ? wordOf(value) : value));
  return (text) => sought.reduce<string>((shown, value) => shown.replaceAll(value, "***"), text);
}
