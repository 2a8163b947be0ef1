// What stands in the places a session can write to, and what has changed between two looks. Pure. Invariants:
// 1. Nothing that a command can set tells whether a file changed: not its time of modification, but its inode, its size and the
//    time of the last change of the inode (ctime), which only the kernel sets.
// 2. The kernel's clock has ticks, up to 10 ms long: a file that changed within a tick of the look may change again and show the
//    same ctime. Such an entry is in doubt, and is settled by the hash of its content.

import { deflateSync, inflateSync } from "node:zlib";

/** The places a session can write to, without the leading slash. All that is in them goes into a checkpoint. */
export const PLACES = ["workspace", "tmp", "dev/shm"] as const;

/** A socket belongs to a process and cannot be copied; it is listed so that a new one can be taken away. */
export type EntryType = "file" | "directory" | "symlink" | "fifo" | "socket";

export interface Entry {
  readonly type: EntryType;
  readonly mode: number;
  readonly size: number;
  readonly inode: string;
  /** Nanoseconds since 1970. */
  readonly changed: bigint;
  /** SHA-256 of the content, or of a link's target, where it changed within a tick of the look. */
  readonly hash?: string;
}

/** By path, from the root, without the leading slash; a string of bytes (latin1). */
export interface Manifest {
  /** When it was begun, by the clock that gives the files their times. */
  readonly at: bigint;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** Twice the longest tick. */
export const TICK_NS = 20_000_000n;

export interface Difference {
  /** New or changed, in the order of the later manifest: a directory before what is in it. */
  readonly changed: readonly string[];
  /** Of the changed, those that may be as they were. */
  readonly doubtful: ReadonlySet<string>;
  /** Gone, or there as something of another type. */
  readonly removed: readonly string[];
}

export function compareManifests(before: Manifest, after: Manifest): Difference {
  const changed: string[] = [];
  const doubtful = new Set<string>();
  const removed: string[] = [];
  for (const [path, entry] of after.entries) {
    const old = before.entries.get(path);
    if (old === undefined) changed.push(path);
    else if (old.type !== entry.type) {
      removed.push(path);
      changed.push(path);
    } else if (entry.type === "directory") {
      // What is in it has entries of its own; its ctime only says that some of them came or went.
      if (old.mode !== entry.mode) changed.push(path);
    } else if (!isSame(old, entry)) changed.push(path);
    else if (isYoung(before, entry)) {
      changed.push(path);
      if (old.hash !== undefined) doubtful.add(path);
    }
  }
  for (const path of before.entries.keys()) if (!after.entries.has(path)) removed.push(path);
  return { changed, doubtful, removed };
}

function isSame(one: Entry, other: Entry): boolean {
  return (
    one.inode === other.inode && one.changed === other.changed && one.size === other.size && one.mode === other.mode
  );
}

/** Could `entry` still change without showing it? */
export function isYoung(manifest: Manifest, entry: Entry): boolean {
  const hasContent = entry.type === "file" || entry.type === "symlink";
  return hasContent && entry.changed >= manifest.at - TICK_NS;
}

/** Whether both hold the same as far as a copy can: inodes and times of change differ. The first path that differs, or null. */
export function findUnlike(wanted: Manifest, found: Manifest): string | null {
  for (const [path, entry] of wanted.entries) {
    if (entry.type === "socket") continue;
    const other = found.entries.get(path);
    if (other === undefined || other.type !== entry.type) return path;
    if (entry.type !== "symlink" && other.mode !== entry.mode) return path;
    if (entry.type === "file" && other.size !== entry.size) return path;
  }
  for (const path of found.entries.keys()) if (!wanted.entries.has(path)) return path;
  return null;
}

const letters: Readonly<Record<EntryType, string>> = {
  file: "f",
  directory: "d",
  symlink: "l",
  fifo: "p",
  socket: "s",
};
/** The letters of find's %y. */
export const byLetter = new Map(Object.entries(letters).map(([type, letter]) => [letter, type as EntryType]));

/** Compressed: the same folder names come again and again. */
export function packManifest({ at, entries }: Manifest): Buffer {
  const lines = [String(at)];
  for (const [path, { type, mode, size, inode, changed, hash }] of entries) {
    lines.push(`${letters[type]} ${mode.toString(8)} ${size} ${inode} ${changed} ${hash ?? "-"} ${path}`);
  }
  return deflateSync(Buffer.from(lines.join("\0"), "latin1"), { level: 1 });
}

export function unpackManifest(bytes: Uint8Array): Manifest {
  const [at = "0", ...lines] = inflateSync(bytes).toString("latin1").split("\0");
  const entries = new Map<string, Entry>();
  for (const line of lines) {
    const [letter = "", mode = "", size = "", inode = "", changed = "", hash = ""] = line.split(" ", 6);
    const path = line.slice([letter, mode, size, inode, changed, hash].reduce((sum, word) => sum + word.length + 1, 0));
    entries.set(path, {
      type: byLetter.get(letter) ?? "file",
      mode: Number.parseInt(mode, 8),
      size: Number(size),
      inode,
      changed: BigInt(changed),
      ...(hash === "-" ? {} : { hash }),
    });
  }
  return { at: BigInt(at), entries };
}
