/**
 * Secrets of the operator that headers of tools name. A workflow says which secret and where to, and anybody may write a workflow: so
 * the operator says to which hosts a secret may go, and it goes to no other, and only over https unless the operator says http. What comes back never shows one.
 */
import { ToolFailure } from "./tool-codes.ts";

interface Secret {
  readonly value: string;
  /** Hosts, with a port where it is not the usual one. `http://` before one: it may go there unencrypted. */
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

/** Shorter ones would blank out half of every text. */
const shortest = 4;

/** A shorter one is only hidden as a word of its own: the secret "test" leaves "latest" alone. */
const wordsBelow = 12;

/** A word may follow an escaped line break, as JSON writes one. */
function wordOf(value: string): RegExp {
  const escaped = value.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}_])|(?<=\\\\[nrt]))${escaped}(?![\\p{L}\\p{N}_])`, "gu");
}

/** Whole, or as addresses and JSON write it. */
export function hideSecrets(values: readonly string[]): (text: string) => string {
  const spelled = values
    .filter(({ length }) => length >= shortest)
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]);
  const longestFirst = [...new Set(spelled)].sort((one, other) => other.length - one.length);
  const sought = longestFirst.map((value) => (value.length < wordsBelow ? wordOf(value) : value));
  return (text) => sought.reduce<string>((shown, value) => shown.replaceAll(value, "***"), text);
}
