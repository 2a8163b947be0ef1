/**
 * Decides whether a `class.yaml` may use this machine's credentials for repositories. A file does so with its own address (`repositories:
 * https://…{login}`), or with allowed places for addresses in the roster (`repositories.allow`), including folders of this machine. Its
 * author may be a stranger who sent the folder. So these places count only if the user trusts exactly this content at this path, as for a
 * `.env`. No other part of `class.yaml` needs trust.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isWrittenByOthers } from "./env-file.ts";
import { trustsEverything } from "./trust-everything.ts";
import { decisionOn, type TrustSubject } from "./trust-records.ts";

const longest = 1024 * 1024;
const mostShown = 20;
const longestShown = 160;
/** These match `allow` as a key, and an address with a placeholder for a student's data from the roster. */
const allowKey = /(?:^|[\s{,"'])allow["']?\s*:/;
const remote = /(?:https|ssh):\/\//i;
const field = /\{(?:login|handle|id|key)\}/;

export interface ClassFileWithPlaces {
  readonly subject: TrustSubject;
  /** The lines from the first place on, without comments, and a count of the omitted lines. */
  readonly shows: readonly string[];
  readonly stat: Stats;
}

/** null: there is no such file, or it names no places. */
export function classFileWithPlaces(file: string): ClassFileWithPlaces | null {
  const read = readPlainFile(file);
  if (read === null) return null;
  // A comment that looks like a place must not be shown instead of the places.
  const lines = read.bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => !/^\s*(?:#|$)/.test(line));
  const first = lines.findIndex(isPlace);
  if (first < 0) return null;
  // If not all lines can be shown, show the lines that may contain an address or a path. Otherwise 20 harmless lines could hide the places.
  const all = lines.slice(first);
  const telling = all.length <= mostShown ? all : all.filter((line) => line.includes("/") || isPlace(line));
  const shown = telling.slice(0, mostShown);
  const more = all.length - shown.length;
  const at = resolve(file);
  const fingerprint = createHash("sha256").update(read.bytes).digest("hex");
  return {
    subject: { path: join(realpathSync(dirname(at)), basename(at)), fingerprint },
    shows: [
      ...shown.map((line) => cut(line.trimEnd())),
      ...(more > 0 ? [`… and ${more} more lines: read the file`] : []),
    ],
    stat: read.stat,
  };
}

function isPlace(line: string): boolean {
  return allowKey.test(line) || (remote.test(line) && field.test(line));
}

function cut(line: string): string {
  const more = line.length - longestShown;
  return more > 0 ? `${line.slice(0, longestShown)}… and ${more} more characters: read the file` : line;
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
