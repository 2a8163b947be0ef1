/**
 * Reads `repositories.allow`: the places of repositories that class.yaml itself allows. The credentials of this machine are sent only to
 * roster addresses below these places, and files are read only below them.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { type RemoteAddress, type RepositoryAddress, takeApart } from "./repository-address.ts";

export type AllowedPlace =
  | { readonly is: "host"; readonly at: RemoteAddress; readonly begins: string | null }
  | { readonly is: "folder"; readonly path: string };

/**
 * Examples: `https://host/course/`, `git@host:course/sheet3-*`, `file:///srv/class/repositories/`. Throws a description of what is wrong
 * with the text.
 */
export function readAllowedPlace(written: string): AllowedPlace {
  // A lone * means the same as no *: any path below.
  const [, before = written, name = ""] = /^(.*\/)([^/*]*)\*$/s.exec(written) ?? [];
  const begins = name === "" ? null : name;
  if (/[*?[\]]/.test(before)) {
    throw new Error(`${written} contains a wildcard. Only a * at the end is allowed, as in git@host:course/sheet3-*`);
  }
  const parts = takeApart(before);
  if (parts.scheme !== "file") return { is: "host", at: parts, begins };
  const path = /^(?:[^%]|%[0-7][0-9a-f])*$/i.test(parts.rest) ? decodeURIComponent(parts.rest) : "";
  if (begins === null && path.startsWith("/")) return { is: "folder", path };
  throw new Error(`${written} is not a folder. Write file:///PATH`);
}

/** Whether the address is in the place: the host is the same, and the address's path continues the place's path by whole names. */
export async function isInPlace(address: RepositoryAddress, place: AllowedPlace): Promise<boolean> {
  if (place.is === "folder") {
    if (address.scheme !== "file") return false;
    const real = await realpath(place.path).catch(() => null);
    return real !== null && address.path.startsWith(real.endsWith(sep) ? real : real + sep);
  }
  if (address.scheme === "file") return false;
  const { at, begins } = place;
  const sameHost = (["scheme", "user", "host", "port"] as const).every((part) => at[part] === address[part]);
  const inside = at.segments.every((segment, index) => segment === address.segments[index]);
  const next = address.segments[at.segments.length];
  return sameHost && inside && next !== undefined && (begins === null || next.startsWith(begins));
}
