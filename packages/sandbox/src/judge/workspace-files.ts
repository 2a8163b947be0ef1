// Returns all files of a session's workspace as one tar, including links and folders. It is used for the current state that is judged, and
// for the files that a guest leaves.

import { readTar, type TarEntry, writeTar } from "../checkpoint/tar-archive.ts";
import { type Session, WORKSPACE } from "../port.ts";

const PREFIX = `${WORKSPACE.slice(1)}/`;

/** Rejects like `changes` when there is too much, or an entry cannot be read. */
export async function workspaceFiles(session: Pick<Session, "changes">, maxBytes: number): Promise<Uint8Array> {
  const changes = await session.changes(null, { maxBytes });
  return changes.kind === "same" ? new Uint8Array() : writeTar(below(readTar(changes.tar)));
}

function* below(entries: Iterable<TarEntry>): Generator<TarEntry> {
  for (const entry of entries) {
    if (!entry.path.startsWith(PREFIX)) continue;
    // A hard link names its target relative to the root of the archive.
    const target = entry.type === "hardlink" ? entry.target.slice(PREFIX.length) : entry.target;
    if (entry.type === "hardlink" && !entry.target.startsWith(PREFIX)) continue;
    yield { ...entry, path: entry.path.slice(PREFIX.length), target };
  }
}
