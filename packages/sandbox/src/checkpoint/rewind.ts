// Rewinds a session to a snapshot after a worker was lost in the middle of a command. All adapters share it. Invariants:
// 1. A rewind first ends every process that the snapshot does not list, and only then touches files. It touches only files that differ: a
//    server that an earlier command left running keeps its files and its folder.
// 2. A rewind reports success only when the writable folders match the snapshot, and the processes in the snapshot still run.
// 3. A session that holds too many files to scan can still be rewound: everything is removed, and everything from the snapshot is restored.
//
// kill -9 in the middle of a rewind leaves a mixture of old and new files. The target snapshot is still stored, and the next rewind starts
// over.

import { SandboxError } from "../sandbox-error.ts";
import { isUnfit, Look } from "./look.ts";
import { compareManifests, type Entry, findUnlike, type Manifest, unpackManifest } from "./manifest.ts";
import { readTar, type TarEntry, writeTarPaced } from "./tar-archive.ts";
import { type CheckpointPart, nothing, type Snapshot, setHash, snapshotOf, type WorkspaceAccess } from "./workspace.ts";

/**
 * The time limit of a rewind. It is longer than that of other scans: the caller needs the rewind, and the stored snapshot was within the
 * bounds.
 */
const REWIND_MS = 60_000;

/** Returns a snapshot of the session after the rewind. */
export async function rewind(
  access: WorkspaceAccess,
  to: Snapshot,
  parts: readonly CheckpointPart[],
): Promise<Snapshot> {
  const here = to.instance === access.instance;
  const wanted = unpackManifest(to.manifest);
  const look = new Look({ maxEntries: Math.max(new Look().maxEntries, 2 * wanted.entries.size), maxMs: REWIND_MS });
  await access.killAllBut(new Set(here ? to.processes : []));
  const now = await listToRewind(access, look);
  const alive = new Set(here && now !== null ? await access.processes(look) : []);
  const lost = to.processes.filter((process) => !alive.has(process)).length;
  if (lost > 0) throw processesLost(lost);
  const { changed, removed } = compareManifests(here ? wanted : nothing, now ?? nothing);
  const missing = new Set(here ? [...changed, ...removed] : wanted.entries.keys());
  const put = new Set(
    [...wanted.entries]
      // Every folder: the rewind makes read-only folders writable, and restores their mode at the end.
      .filter(([path, { type }]) => type !== "socket" && (type === "directory" || missing.has(path)))
      .map(([path]) => path),
  );
  const remove = changed.filter(
    (path) => !(now?.entries.get(path)?.type === "directory" && wanted.entries.get(path)?.type === "directory"),
  );
  const entries = composeEntries(parts, wanted, put);
  const found = await write(access, now === null ? "all" : remove, entries, look);
  const unlike = findUnlike(wanted, found);
  if (unlike !== null) throw notRestored(`'${Buffer.from(unlike, "latin1").toString("utf8")}' is not as it was`);
  const hashes = new Map<string, string>();
  for (const one of entries) {
    await look.pace();
    setHash(hashes, one);
  }
  return snapshotOf(access, found, to.processes, hashes);
}

/** Returns null if the session holds too many files to scan. */
async function listToRewind(access: WorkspaceAccess, look: Look): Promise<Manifest | null> {
  try {
    return await access.list(look);
  } catch (error) {
    if (!isUnfit(error)) throw error;
    if (error.code !== "SANDBOX_FILES_FAILED") return null;
  }
  // A write, even an empty one, makes unreadable folders readable.
  await access.write([], Buffer.alloc(1024));
  return await access.list(look).catch((error) => {
    if (isUnfit(error)) return null;
    throw error;
  });
}

async function write(
  access: WorkspaceAccess,
  remove: readonly string[] | "all",
  entries: readonly TarEntry[],
  look: Look,
): Promise<Manifest> {
  try {
    await access.write(remove, await writeTarPaced(entries, () => look.pace()));
    return await access.list(look);
  } catch (error) {
    if (isUnfit(error)) throw notRestored(error.message);
    throw error;
  }
}

/** The latest content of each path, in an order in which it can be unpacked. */
function composeEntries(parts: readonly CheckpointPart[], wanted: Manifest, put: ReadonlySet<string>): TarEntry[] {
  const found = new Map<string, TarEntry>();
  for (const { whole, removed, tar, within } of parts) {
    if (whole) found.clear();
    for (const path of removed) found.delete(path);
    const files = new Map<string, Uint8Array>();
    const at = (path: string) => (within === undefined ? path : `${within}/${path}`);
    for (const entry of readTar(tar)) {
      const path = at(entry.path);
      if (entry.type === "file") files.set(path, entry.bytes);
      if (put.has(path))
        found.set(path, { ...entry, path, ...(entry.type === "hardlink" ? { target: at(entry.target) } : {}) });
    }
    // A hard link is valid only within its own part: a later part may change its target.
    for (const [path, entry] of found) {
      const bytes = entry.type === "hardlink" ? files.get(entry.target) : undefined;
      if (bytes !== undefined) found.set(path, { ...entry, bytes });
    }
  }
  const firstOf = new Map<Uint8Array, string>();
  return [...put].map((path): TarEntry => {
    const { type, mode, size } = wanted.entries.get(path) as Entry;
    const entry = found.get(path);
    const common = { path, mode, mtime: entry?.mtime ?? "0", target: "", bytes: new Uint8Array() };
    if (type === "directory") return { ...common, type };
    const fits = entry?.type === type || (type === "file" && entry?.type === "hardlink");
    if (entry === undefined || !fits || (type === "file" && entry.bytes.length !== size))
      throw notRestored(`'${Buffer.from(path, "latin1").toString("utf8")}' is not in the checkpoint`);
    if (type === "symlink") return { ...common, type, target: entry.target };
    if (type === "fifo") return { ...common, type };
    const first = firstOf.get(entry.bytes);
    if (first !== undefined && entry.bytes.length > 0) return { ...common, type: "hardlink", target: first };
    firstOf.set(entry.bytes, path);
    return { ...common, type: "file", bytes: entry.bytes };
  });
}

function processesLost(count: number): SandboxError {
  return new SandboxError(
    "SANDBOX_PROCESSES_LOST",
    `${count === 1 ? "A process" : `${count} processes`} that earlier commands had left running ${count === 1 ? "is" : "are"} gone, so the session cannot be put back as it was.`,
    "Run the workflow again, or let each EXECUTE start what it needs.",
  );
}

function notRestored(what: string): SandboxError {
  return new SandboxError(
    "SANDBOX_WORKSPACE_LOST",
    `The workspace could not be put back as it was: ${what}.`,
    "Run the workflow again.",
  );
}
