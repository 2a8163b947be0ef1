/**
 * Places of repositories that class.yaml itself names (`repositories.allow`). Credentials of this machine go to addresses of a roster below these
 * places alone; files are read below them alone.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { type RemoteAddress, type RepositoryAddress, takeApart } from "./repository-address.ts";

export type AllowedPlace =
  | { readonly is: "host"; readonly at: RemoteAddress; readonly begins: string | null }
  | { readonly is: "folder"; readonly path: string };

/** `https://host/course/`, `git@host:course/sheet3-*`, `file:///srv/class/repositories/`. Throws what is wrong with it. */
export function readAllowedPlace(written: string): AllowedPlace {
  // A * of its own says what its absence says: whatever lies below.
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

/** Whether the address is one of the place: the same host, and its path goes on, by whole names, where that of the place ends. */
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
