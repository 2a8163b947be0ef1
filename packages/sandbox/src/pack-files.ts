// Files for a session as one uncompressed tar, refused where a path could leave the workspace. Invariant: what this returns
// holds directories and regular files only, with relative paths, each once.

import { pack } from "tar-stream";
import type { ReadOnlyTree, SessionFile, SessionFiles } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

export const MAX_FILES = 20_000;

/** The bytes to feed to `tar -x` inside the session, none when there are no files. A tar given by the caller passes as it is: it is unpacked in the jail. */
export async function packFiles(files: SessionFiles, maxBytes: number): Promise<Uint8Array> {
  const size =
    files.kind === "tar" ? files.bytes.length : files.files.reduce((sum, file) => sum + file.bytes.length, 0);
  if (size > maxBytes) throw refused(`The files have ${size} bytes, the session may hold ${maxBytes}.`);
  if (files.kind === "tar") return files.bytes;
  if (files.files.length === 0) return new Uint8Array();
  checkPaths(files.files);
  return await packList(files.files);
}

/** Read-only trees as one tar to be unpacked at the root, readable for all. None when there is no file. */
export async function packTrees(trees: readonly ReadOnlyTree[], maxBytes: number): Promise<Uint8Array> {
  const files = trees.flatMap((tree) =>
    tree.files.map((file) => ({
      ...file,
      path: `${tree.at.slice(1)}/${file.path}`,
      mode: (file.mode & 0o100) === 0 ? 0o444 : 0o555,
    })),
  );
  return await packFiles({ kind: "list", files }, maxBytes);
}

/** Refuses absolute paths, `..`, empty and `.` parts, NUL, over-long names, duplicates, and a file used as a directory. */
function checkPaths(files: readonly SessionFile[]): void {
  if (files.length > MAX_FILES) throw refused(`There are ${files.length} files, at most ${MAX_FILES} may enter.`);
  const paths = new Set<string>();
  for (const { path } of files) {
    const parts = path.split("/");
    const bad = parts.some((part) => part === "" || part === "." || part === ".." || Buffer.byteLength(part) > 255);
    if (bad || path.includes("\0") || Buffer.byteLength(path) > 4000)
      throw refused(`The path ${JSON.stringify(path.slice(0, 200))} is not a plain relative path.`);
    if (paths.has(path)) throw refused(`The path ${JSON.stringify(path)} occurs twice.`);
    paths.add(path);
  }
  for (const path of paths) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      if (paths.has(path.slice(0, at)))
        throw refused(`The path ${JSON.stringify(path.slice(0, at))} is a file and a directory.`);
    }
  }
}

async function packList(files: readonly SessionFile[]): Promise<Uint8Array> {
  const archive = pack();
  const chunks: Buffer[] = [];
  const collected = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer);
  })();
  for (const file of files) {
    archive.entry({ name: file.path, mode: file.mode & 0o777, type: "file" }, Buffer.from(file.bytes));
  }
  archive.finalize();
  await collected;
  return Buffer.concat(chunks);
}

/** The session's own bounds (disk, number of files, length of names) ended the unpacking: what tar says of them. */
const beyondBounds = /No space left on device|Disk quota exceeded|File too large|File name too long/;

/**
 * The files are more than the session may hold, although they passed `maxBytes`: each takes whole blocks and an entry. That is the work of
 * whoever handed them in. It must not be taken for trouble of ours, for which the run would wait for ever. null: tar failed for another reason.
 */
export function refusedUnpacked(said: string): SandboxError | null {
  const [found] = beyondBounds.exec(said) ?? [];
  return found === undefined ? null : refused(`The files do not fit into the session (${found}).`);
}

function refused(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_REFUSED", what, "Correct the submission's files.");
}
