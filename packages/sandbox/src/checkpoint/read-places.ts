// Reads a session's writable folders from the host, for adapters whose files the host can see (jail, none). No process is started, so a
// scan of a small workspace takes about a millisecond. Foreign processes may change the tree meanwhile. Invariants:
// 1. Nothing outside these folders is ever opened. Each directory is opened below the descriptor of its parent and never through a link, so
//    a folder that is swapped for a link between two calls leads nowhere.
// 2. Only directories and regular files are opened, and without blocking: a named pipe cannot delay the scan.
// 3. Depth, entries, names, bytes and time are bounded (look.ts). The scan throws if it exceeds a bound or cannot read an entry.
// 4. A file that changes meanwhile is read as it is at some moment of the scan, and at most up to the length it had when it was opened.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
} from "node:fs";
import { SandboxError } from "../sandbox-error.ts";
import { type Look, tooMany, tooManyBytes } from "./look.ts";
import type { Entry, EntryType, Manifest } from "./manifest.ts";
import { type TarEntry, tarSize } from "./tar-archive.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const hasDescriptors = existsSync("/proc/self/fd");
const CHUNK_BYTES = 4 * 1024 * 1024;

/** The path on the host of each writable folder, by its path in the session. */
export type PlacesOnHost = Readonly<Record<string, string>>;

interface Seen {
  readonly path: string;
  /** Names the entry below the descriptor of its directory. Valid only while `visit` runs. */
  readonly at: Buffer;
  readonly entry: Entry;
  readonly mtime: bigint;
}

export async function listPlaces(places: PlacesOnHost, look: Look): Promise<Manifest> {
  const at = BigInt(Date.now()) * 1_000_000n;
  const entries = new Map<string, Entry>();
  await walk(places, look, async ({ path, entry }) => {
    entries.set(path, entry);
  });
  return { at, entries };
}

/** Reads the current state of the wanted entries. Entries that no longer exist are left out. */
export async function readPlaces(
  places: PlacesOnHost,
  wanted: ReadonlySet<string>,
  maxBytes: number,
  look: Look,
): Promise<TarEntry[]> {
  const found: TarEntry[] = [];
  const byInode = new Map<string, string>();
  let size = 0;
  await walk(places, look, async ({ path, at, entry, mtime }) => {
    if (!wanted.has(path) || entry.type === "socket") return;
    const common = { path, mode: entry.mode, mtime: formatTime(mtime), target: "", bytes: new Uint8Array() };
    const first = byInode.get(entry.inode);
    const content = entry.type === "file" && first === undefined ? entry.size : 0;
    size += tarSize(path.length, content);
    if (size > maxBytes) throw tooManyBytes(maxBytes);
    if (entry.type === "symlink") {
      found.push({ ...common, type: "symlink", target: readlinkSync(at, "buffer").toString("latin1") });
    } else if (entry.type === "file") {
      if (first !== undefined) found.push({ ...common, type: "hardlink", target: first });
      else {
        const bytes = await readRegular(at, maxBytes - size + content, maxBytes, look);
        byInode.set(entry.inode, path);
        found.push({ ...common, type: "file", bytes });
      }
    } else found.push({ ...common, type: entry.type });
  });
  return found;
}

async function readRegular(at: Buffer, leftBytes: number, maxBytes: number, look: Look): Promise<Uint8Array> {
  const file = openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    // The file no longer exists, and another entry has its name.
    if (!stat.isFile()) throw Object.assign(new Error("no file any more"), { code: "ENOENT" });
    if (stat.size > leftBytes) throw tooManyBytes(maxBytes);
    // Read at most the length from a moment ago. A file that grows faster than it is read would never end.
    const bytes = Buffer.alloc(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(file, bytes, length, Math.min(CHUNK_BYTES, bytes.length - length), length);
      if (read === 0) break;
      length += read;
      await look.pace();
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

type Visit = (seen: Seen) => Promise<void>;

/** The file calls are synchronous, because they are many and only touch memory. Between them the scan yields to the rest of the process. */
async function walk(places: PlacesOnHost, look: Look, visit: Visit): Promise<void> {
  look.begin();
  for (const [name, path] of Object.entries(places)) {
    try {
      const directory = openDirectory(Buffer.from(path), false);
      if (directory !== undefined) await walkDirectory(directory, path, name, 1, look, visit);
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
  look: Look,
  visit: Visit,
): Promise<void> {
  try {
    // Without /proc there is no jail either, so there is no isolation to protect.
    const here = Buffer.from(hasDescriptors ? `/proc/self/fd/${directory}` : path);
    for (const child of await namesIn(here, look)) {
      await look.pace();
      const at = Buffer.concat([here, Buffer.from("/"), child]);
      const below = `${name}/${child.toString("latin1")}`;
      look.count(below, depth);
      const seen = see(at, below);
      if (seen === undefined) continue;
      await ifStillThere(() => visit(seen));
      if (seen.entry.type !== "directory") continue;
      const opened = openDirectory(at, true);
      if (opened !== undefined) await walkDirectory(opened, at, below, depth + 1, look, visit);
    }
  } finally {
    closeSync(directory);
  }
}

/** Returns the names sorted by bytes. A folder with more names than allowed is not read to its end. */
async function namesIn(here: Buffer, look: Look): Promise<Buffer[]> {
  const names: Buffer[] = [];
  const directory = opendirSync(here as unknown as string, { encoding: "buffer" as BufferEncoding, bufferSize: 512 });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      names.push(entry.name as unknown as Buffer);
      if (names.length > look.entriesLeft) throw tooMany(look.maxEntries);
      if (names.length % 512 === 0) await look.pace();
    }
  } finally {
    directory.closeSync();
  }
  return names.sort(Buffer.compare);
}

function see(at: Buffer, path: string): Seen | undefined {
  const stat = ifThere(() => lstatSync(at, { bigint: true }));
  if (stat === undefined) return undefined;
  const type = byFormat.get(Number(stat.mode) & constants.S_IFMT);
  // Devices cannot be created in a session.
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

/** Returns undefined when the path no longer exists or is no longer a directory. */
function openDirectory(path: Buffer, strict: boolean): number | undefined {
  return ifThere(() => openSync(path, O_RDONLY | O_DIRECTORY | (strict ? O_NOFOLLOW : 0)));
}

function ifThere<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    return unlessGone(error);
  }
}

async function ifStillThere(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    unlessGone(error);
  }
}

function unlessGone(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  // ENXIO: the path is now a socket or a pipe instead of a file.
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "ENXIO") return undefined;
  throw error;
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
