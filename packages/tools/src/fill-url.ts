/**
 * Fills the placeholders in the URL of an HTTP tool.
 *
 * F1  A value stays inside its placeholder: it is percent-encoded, and cannot become a path segment that leads elsewhere (`..`).
 * F2  Placeholders may be in the path or in the query, never in the host: the author decides which host a tool uses.
 * F3  The author's own text stays unchanged, also in the query; values are appended to it.
 */
import { ToolFailure } from "./tool-codes.ts";

const place = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

export type ArgumentValues = Readonly<Record<string, unknown>>;

/** Names of the placeholders in a URL. */
export function urlPlaces(url: string): readonly string[] {
  return [...url.matchAll(place)].map(([, name = ""]) => name);
}

export function fillUrl(template: string, values: ArgumentValues): string {
  const host = /^[a-z]+:\/\/[^/?#]*/i.exec(template)?.[0] ?? "";
  if (urlPlaces(host).length > 0) throw new ToolFailure("TOOL_NOT_CONFIGURED", "The host of a tool's url has a place.");
  const filled = template.replace(place, (_, name: string) => encodeURIComponent(textOf(values, name)));
  const path = (/^[^?#]*/.exec(filled.slice(host.length))?.[0] ?? "").split(/[/\\]/);
  if (path.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw new ToolFailure("TOOL_ARGUMENTS", "An argument would make the address lead to another path.");
  }
  return filled;
}

/** The URL with more parameters, each a name and its text (F3). */
export function withQuery(url: string, parameters: readonly (readonly [name: string, text: string])[]): string {
  const [address = "", fragment] = url.split("#", 2);
  const added = parameters.map(([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`).join("&");
  const sign = !address.includes("?") ? "?" : /[?&]$/.test(address) ? "" : "&";
  const whole = added === "" ? address : `${address}${sign}${added}`;
  return fragment === undefined ? whole : `${whole}#${fragment}`;
}

/** The text for a placeholder or a query parameter. */
export function textOf(values: ArgumentValues, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value.toWellFormed() : JSON.stringify(value);
}
