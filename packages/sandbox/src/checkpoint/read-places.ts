// Reads the places of a session from the host, for adapters whose files the host can see (jail, none): no process is started, so a
// look at a small workspace takes about a millisecond. Foreign processes may change the tree meanwhile. Invariants:
// 1. Nothing outside the places is ever opened: each directory is opened below the descriptor of its parent and never through a
//    link, so that a folder that is swapped for a link between two calls leads nowhere.
// 2. Nothing but directories and regular files is opened, and without waiting: a named pipe cannot hold us up.
// 3. Depth, entries and bytes are bounded. What goes beyond a bound, or cannot be read, throws: half a checkpoint is none.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { SandboxError } from "../sandbox-error.ts";
import type { Entry, EntryType, Manifest } from "./manifest.ts";
import { type TarEntry, tarSize } from "./tar-archive.ts";
import { tooLarge } from "./workspace.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const hasDescriptors = existsSync("/proc/self/fd");
const MAX_DEPTH = 128;
export const MAX_ENTRIES = 200_000;

/** Where a place is for the host, by its path in the session. */
export type PlacesOnHost = Readonly<Record<string, string>>;

interface Seen {
  readonly path: string;
  /** Names the entry below the descriptor of its directory; good while `visit` runs. */
  readonly at: Buffer;
  readonly entry: Entry;
  readonly mtime: bigint;
}

export async function listPlaces(places: PlacesOnHost): Promise<Manifest> {
  const at = BigInt(Date.now()) * 1_000_000n;
  const entries = new Map<string, Entry>();
  await walk(places, ({ path, entry }) => {
    entries.set(path, entry);
    if (entries.size > MAX_ENTRIES) throw unreadable(`it has more than ${MAX_ENTRIES} entries`);
  });
  return { at, entries };
}

/** The wanted entries as they are now; one that has gone meanwhile is left out. */
export async function readPlaces(
  places: PlacesOnHost,
  wanted: ReadonlySet<string>,
  maxBytes: number,
): Promise<TarEntry[]> {
  const found: TarEntry[] = [];
  const byInode = new Map<string, string>();
  let size = 0;
  await walk(places, ({ path, at, entry, mtime }) => {
    if (!wanted.has(path) || entry.type === "socket") return;
    const common = { path, mode: entry.mode, mtime: formatTime(mtime), target: "", bytes: new Uint8Array() };
    const first = byInode.get(entry.inode);
    const content = entry.type === "file" && first === undefined ? entry.size : 0;
    size += tarSize(path.length, content);
    if (size > maxBytes) throw tooLarge(maxBytes);
    if (entry.type === "symlink") {
      found.push({ ...common, type: "symlink", target: readlinkSync(at, "buffer").toString("latin1") });
    } else if (entry.type === "file") {
      if (first !== undefined) found.push({ ...common, type: "hardlink", target: first });
      else {
        const bytes = readRegular(at, maxBytes - size + content);
        byInode.set(entry.inode, path);
        found.push({ ...common, type: "file", bytes });
      }
    } else found.push({ ...common, type: entry.type });
  });
  return found;
}

function readRegular(at: Buffer, maxBytes: number): Uint8Array {
  const file = openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw unreadable("a file became something else");
    if (stat.size > maxBytes) throw tooLarge(maxBytes);
    // As long as it was a moment ago, and no longer: a file that grows faster than it is read never ends.
    const bytes = Buffer.alloc(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(file, bytes, length, bytes.length - length, length);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** The calls are synchronous, because they go to memory and there are many; between them others get their turn. */
async function walk(places: PlacesOnHost, visit: (seen: Seen) => void): Promise<void> {
  const budget = { calls: 0 };
  for (const [name, path] of Object.entries(places)) {
    try {
      const directory = openDirectory(Buffer.from(path), false);
      if (directory !== undefined) await walkDirectory(directory, path, name, 0, budget, visit);
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      throw unreadable(error instanceof Error && "code" in error ? String(error.code) : String(error));
    }
  }
}

/** Closes the directory. */
async function walkDirectory(
  directory: number,
  path: string | Buffer,
  name: string,
  depth: number,
  budget: { calls: number },
  visit: (seen: Seen) => void,
): Promise<void> {
  try {
    if (depth > MAX_DEPTH) throw unreadable(`its folders are nested deeper than ${MAX_DEPTH}`);
    // Without /proc there is no jail either, and nobody is kept from anything.
    const here = Buffer.from(hasDescriptors ? `/proc/self/fd/${directory}` : path);
    for (const child of readdirSync(here, { encoding: "buffer" }).sort(Buffer.compare)) {
      budget.calls += 1;
      if (budget.calls % 500 === 0) await turn();
      const at = Buffer.concat([here, Buffer.from("/"), child]);
      const below = `${name}/${child.toString("latin1")}`;
      const seen = look(at, below);
      if (seen === undefined) continue;
      ifThere(() => visit(seen));
      if (seen.entry.type !== "directory") continue;
      const opened = openDirectory(at, true);
      if (opened !== undefined) await walkDirectory(opened, at, below, depth + 1, budget, visit);
    }
  } finally {
    closeSync(directory);
  }
}

function look(at: Buffer, path: string): Seen | undefined {
  const stat = ifThere(() => lstatSync(at, { bigint: true }));
  if (stat === undefined) return undefined;
  const type = byFormat.get(Number(stat.mode) & constants.S_IFMT);
  // Devices cannot be made in a session.
  if (type === undefined) return undefined;
  return {
    path,
    at,
    mtime: stat.mtimeNs,
    entry: {
      type,
      mode: Number(stat.mode & 0o7777n),
      size: type === "file" ? Number(stat.size) : 0,
      inode: `${stat.dev}.${stat.ino}`,
      changed: stat.ctimeNs,
    },
  };
}

const byFormat = new Map<number, EntryType>([
  [constants.S_IFREG, "file"],
  [constants.S_IFDIR, "directory"],
  [constants.S_IFLNK, "symlink"],
  [constants.S_IFIFO, "fifo"],
  [constants.S_IFSOCK, "socket"],
]);

/** Undefined when it is gone or no directory any more. */
function openDirectory(path: Buffer, strict: boolean): number | undefined {
  return ifThere(() => openSync(path, O_RDONLY | O_DIRECTORY | (strict ? O_NOFOLLOW : 0)));
}

function ifThere<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw error;
  }
}

function formatTime(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return "0";
  const rest = nanoseconds % 1_000_000_000n;
  const seconds = String(nanoseconds / 1_000_000_000n);
  return rest === 0n ? seconds : `${seconds}.${String(rest).padStart(9, "0")}`;
}

function unreadable(what: string): SandboxError {
  return new SandboxError(
    "SANDBOX_FILES_FAILED",
    `The workspace cannot be read for a checkpoint: ${what}.`,
    "Leave fewer and readable files behind.",
  );
}
