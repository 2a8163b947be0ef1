// Takes snapshots of a session and collects the changes since a snapshot. All adapters share it; the rewind is in rewind.ts. Invariants:
// 1. It does not use the session's own shell, PATH or programs: our own readers create the lists and archives.
// 2. A scan is bounded in entries, bytes and time (look.ts). A file that changed between the list and the reading is stored as it was read,
//    and counts as changed at the next scan. So a checkpoint always matches its manifest.

import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { packFiles } from "../pack-files.ts";
import { type SessionFiles, WORKSPACE } from "../port.ts";
import { Look, type LookBounds } from "./look.ts";
import {
  compareManifests,
  type Entry,
  isYoung,
  type Manifest,
  packManifest,
  TICK_NS,
  unpackManifest,
} from "./manifest.ts";
import { type TarEntry, writeTarPaced } from "./tar-archive.ts";

const CHEAP_BYTES = 4 * 1024 * 1024;
/** The maximum size of files that are hashed but not stored. */
const MOST_BYTES = 512 * 1024 * 1024;

/** The state of a session at one moment. Plain data, so that it can be stored. */
export interface Snapshot {
  /**
   * The container or jail of the snapshot. In another container or jail the manifest cannot be compared, and the processes no longer exist.
   */
  readonly instance: string;
  /** The background processes at the top of each process tree. Their children may start and end. */
  readonly processes: readonly string[];
  /** A manifest, packed. */
  readonly manifest: Uint8Array;
}

export type Changes =
  | { readonly kind: "same"; readonly snapshot: Snapshot }
  | {
      /** whole: it does not depend on an earlier part. */
      readonly kind: "delta" | "whole";
      readonly snapshot: Snapshot;
      readonly tar: Uint8Array;
      /** Strings of bytes (latin1). */
      readonly removed: readonly string[];
      /** The total size in bytes of all existing files. */
      readonly total: number;
    };

/** One part of a checkpoint. The first part holds the session's initial files; the changes follow in their order. */
export interface CheckpointPart {
  readonly whole: boolean;
  readonly removed: readonly string[];
  readonly tar: Uint8Array;
  /** The folder that the paths are relative to. Default: the root. */
  readonly within?: string;
}

/** The part that holds a session's initial files. */
export async function partOfFiles(files: SessionFiles): Promise<CheckpointPart> {
  const tar = await packFiles(files, Number.POSITIVE_INFINITY);
  return { whole: true, removed: [], tar, within: WORKSPACE.slice(1) };
}

/** The operations that an adapter must implement. Paths are strings of bytes, relative to the root, without the leading slash. */
export interface WorkspaceAccess {
  readonly instance: string;
  list(look: Look): Promise<Manifest>;
  /** Reading starts no process. */
  readonly readsCheaply: boolean;
  read(paths: ReadonlySet<string>, maxBytes: number, look: Look): Promise<readonly TarEntry[]>;
  /**
   * Removes the paths with everything below them, then unpacks the archive, inside the session and as its user. "all" removes every entry.
   */
  write(remove: readonly string[] | "all", tar: Uint8Array): Promise<void>;
  /** The processes that no other process of the session has started, or whose parent has ended. */
  processes(look: Look): Promise<readonly string[]>;
  /** Ends all processes except these and their descendants. Returns when the others are gone. */
  killAllBut(processes: ReadonlySet<string>): Promise<void>;
}

export interface ChangesOptions extends LookBounds {
  readonly maxBytes: number;
}

export async function takeChanges(
  access: WorkspaceAccess,
  since: Snapshot | null,
  { maxBytes, ...bounds }: ChangesOptions,
): Promise<Changes> {
  const look = new Look(bounds);
  const before = since?.instance === access.instance ? unpackManifest(since.manifest) : null;
  const listed = await access.list(look);
  const processes = await access.processes(look);
  const { changed, doubtful, removed } = compareManifests(before ?? nothing, listed);
  const copied = changed.filter((path) => listed.entries.get(path)?.type !== "socket");
  const read = copied.length === 0 ? [] : await access.read(new Set(copied), maxBytes, look);
  const now = asRead(listed, copied, read);
  const hashes = new Map<string, string>();
  for (const one of read) {
    await look.pace();
    const entry = now.entries.get(one.path);
    const unsure = doubtful.has(one.path) || (entry !== undefined && isYoung(now, entry));
    if (unsure) setHash(hashes, one);
  }
  const unchanged = new Set(
    [...doubtful].filter((path) => {
      const hash = hashes.get(path);
      return hash !== undefined && hash === before?.entries.get(path)?.hash;
    }),
  );
  const kept = read.filter(({ path }) => !unchanged.has(path));
  const gone = copied.filter((path) => !now.entries.has(path) && before?.entries.has(path) === true);
  const snapshot = snapshotOf(access, now, processes, hashes);
  if (before !== null && kept.length === 0 && removed.length === 0 && gone.length === 0)
    return { kind: "same", snapshot };
  const total = [...now.entries.values()].reduce((sum, { size }) => sum + size, 0);
  const tar = await writeTarPaced(kept, () => look.pace());
  const taken = gone.length === 0 ? removed : [...new Set([...removed, ...gone])];
  return { kind: before === null ? "whole" : "delta", snapshot, tar, removed: taken, total };
}

export const nothing: Manifest = { at: 0n, entries: new Map() };

/** Returns the list, corrected by the archive where the two differ: those files changed between listing and reading. */
function asRead(listed: Manifest, copied: readonly string[], read: readonly TarEntry[]): Manifest {
  const byPath = new Map(read.map((one) => [one.path, one]));
  const entries = new Map(listed.entries);
  for (const path of copied) {
    const entry = entries.get(path) as Entry;
    const one = byPath.get(path);
    if (one === undefined) {
      entries.delete(path);
      continue;
    }
    const source = one.type === "hardlink" ? byPath.get(one.target) : one;
    const type = one.type === "hardlink" ? "file" : one.type;
    const size = type === "file" ? (source?.bytes.length ?? entry.size) : 0;
    // No real file has this change time, so the next scan finds the file changed.
    if (type !== entry.type || size !== entry.size)
      entries.set(path, { ...entry, type, size, mode: one.mode, changed: 0n });
  }
  return { at: listed.at, entries };
}

/** Records only the current state, for a later comparison. The content is stored elsewhere already. */
export async function takeSnapshot(access: WorkspaceAccess, bounds: LookBounds = {}): Promise<Snapshot> {
  const look = new Look(bounds);
  for (;;) {
    const now = await access.list(look);
    const processes = await access.processes(look);
    const young = [...now.entries].filter(([, entry]) => isYoung(now, entry));
    const bytes = young.reduce((sum, [, { size }]) => sum + size, 0);
    const readable = access.readsCheaply && bytes <= CHEAP_BYTES;
    // Without processes nothing changes. After a short pause, no entry is young any more.
    if (young.length > 0 && processes.length === 0 && !readable) await pause(Number(TICK_NS / 1_000_000n));
    else {
      const hashes = new Map<string, string>();
      const read = young.length === 0 ? [] : await access.read(new Set(young.map(([path]) => path)), MOST_BYTES, look);
      for (const one of read) {
        await look.pace();
        setHash(hashes, one);
      }
      return snapshotOf(access, now, processes, hashes);
    }
  }
}

export function snapshotOf(
  access: WorkspaceAccess,
  manifest: Manifest,
  processes: readonly string[],
  hashes: ReadonlyMap<string, string>,
): Snapshot {
  const entries = new Map(
    [...manifest.entries].map(([path, entry]) => {
      const hash = isYoung(manifest, entry) ? hashes.get(path) : undefined;
      return [path, hash === undefined ? entry : { ...entry, hash }] as const;
    }),
  );
  return { instance: access.instance, processes, manifest: packManifest({ at: manifest.at, entries }) };
}

/** A hard link comes after its target in the archive, and has the same content. */
export function setHash(hashes: Map<string, string>, entry: TarEntry): void {
  const hash = entry.type === "hardlink" ? hashes.get(entry.target) : hashOf(entry);
  if (hash !== undefined) hashes.set(entry.path, hash);
}

function hashOf({ type, target, bytes }: TarEntry): string {
  return createHash("sha256")
    .update(type === "symlink" ? Buffer.from(target, "latin1") : bytes)
    .digest("hex");
}
