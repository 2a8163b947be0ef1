/**
 * `class.yaml` may say where repositories are read with this machine's credentials: by an address of its own (`repositories: https://…{login}`), and
 * by places for addresses of the roster (`repositories.allow`), folders of this machine among them. Its author may be a stranger who sent the
 * folder. So these places count only if the user trusts exactly this content at this path, as for a `.env`. Nothing else in `class.yaml` needs trust.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isWrittenByOthers } from "./env-file.ts";
import { trustsEverything } from "./trust-everything.ts";
import { decisionOn, type TrustSubject } from "./trust-records.ts";

const longest = 1024 * 1024;
const mostShown = 20;
/** `allow` as a key, and an address with a place for what the roster says of a student. */
const allowKey = /(?:^|[\s{,"'])allow["']?\s*:/;
const remote = /(?:https|ssh):\/\//i;
const field = /\{(?:login|handle|id|key)\}/;

export interface ClassFileWithPlaces {
  readonly subject: TrustSubject;
  /** The lines from the first place on, without comments. */
  readonly shows: readonly string[];
  readonly stat: Stats;
}

/** null: there is no such file, or it names no places. */
export function classFileWithPlaces(file: string): ClassFileWithPlaces | null {
  const read = readPlainFile(file);
  if (read === null) return null;
  // A comment that looks like a place must not stand for the places.
  const lines = read.bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => !/^\s*(?:#|$)/.test(line));
  const first = lines.findIndex(isPlace);
  if (first < 0) return null;
  const more = lines.length - first - mostShown;
  const at = resolve(file);
  const fingerprint = createHash("sha256").update(read.bytes).digest("hex");
  return {
    subject: { path: join(realpathSync(dirname(at)), basename(at)), fingerprint },
    shows: [
      ...lines.slice(first, first + mostShown).map((line) => line.trimEnd().slice(0, 160)),
      ...(more > 0 ? [`… and ${more} more lines: read the file`] : []),
    ],
    stat: read.stat,
  };
}

function isPlace(line: string): boolean {
  return allowKey.test(line) || (remote.test(line) && field.test(line));
}

/** Whether the places of this file count. */
export function trustsClassFile(file: string): boolean {
  if (trustsEverything()) return true;
  const found = classFileWithPlaces(file);
  return found !== null && !isWrittenByOthers(found.stat) && decisionOn(found.subject) === "trusted";
}

function readPlainFile(file: string): { readonly bytes: Buffer; readonly stat: Stats } | null {
  try {
    // Opening a pipe would wait for its writer.
    const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(opened);
      return stat.isFile() && stat.size <= longest ? { bytes: readFileSync(opened), stat } : null;
    } finally {
      closeSync(opened);
    }
  } catch {
    return null;
  }
}
