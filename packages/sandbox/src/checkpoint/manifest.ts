// Lists the entries of a session's writable folders, and compares two lists. Pure. Invariants:
// 1. A command cannot hide a change of a file. The comparison does not use the modification time. It uses the inode, the size and the
//    inode's change time (ctime), which only the kernel sets.
// 2. The kernel's clock advances in ticks of up to 10 ms. A file that changed within a tick of the scan may change again and show the same
//    ctime. Such an entry is doubtful, and the hash of its content decides.

import { deflateSync, inflateSync } from "node:zlib";

/** The folders a session can write to, without the leading slash. A checkpoint contains all files in them. */
export const PLACES = ["workspace", "tmp", "dev/shm"] as const;

/** A socket belongs to a process and cannot be copied. It is listed so that a rewind can remove a new one. */
export type EntryType = "file" | "directory" | "symlink" | "fifo" | "socket";

export interface Entry {
  readonly type: EntryType;
  readonly mode: number;
  readonly size: number;
  readonly inode: string;
  /** The change time (ctime) in nanoseconds since 1970. */
  readonly changed: bigint;
  /** SHA-256 of the content, or of a link's target. Present if the entry changed within a tick of the scan. */
  readonly hash?: string;
}

/** The entries by path, relative to the root, without the leading slash. A path is a string of bytes (latin1). */
export interface Manifest {
  /** The start time of the scan, by the clock that sets the files' times. */
  readonly at: bigint;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** Twice the longest tick. */
export const TICK_NS = 20_000_000n;

export interface Difference {
  /** New or changed paths, in the order of the later manifest: a directory comes before its content. */
  readonly changed: readonly string[];
  /** Those of the changed paths whose content may be unchanged. */
  readonly doubtful: ReadonlySet<string>;
  /** Paths that no longer exist, or that have another type now. */
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
      // The content of a directory has its own entries. The directory's ctime only shows that an entry was added or removed.
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

/** Whether `entry` could still change without showing it. */
export function isYoung(manifest: Manifest, entry: Entry): boolean {
  const hasContent = entry.type === "file" || entry.type === "symlink";
  return hasContent && entry.changed >= manifest.at - TICK_NS;
}

/** Compares what a copy can preserve: inodes and change times may differ. Returns the first path that differs, or null. */
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
/** The letters that find prints for %y. */
export const byLetter = new Map(Object.entries(letters).map(([type, letter]) => [letter, type as EntryType]));

/** Compressed, because the same folder names repeat often. */
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
