// Packs files for a session into one uncompressed tar, and refuses paths that could leave the workspace. Invariant: the result contains
// only directories and regular files, with relative paths, each once.

import { pack } from "tar-stream";
import type { ReadOnlyTree, SessionFile, SessionFiles } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

export const MAX_FILES = 20_000;

/**
 * The bytes for `tar -x` inside the session; empty when there are no files. A tar from the caller is passed on unchanged, because it is
 * unpacked inside the jail.
 */
export async function packFiles(files: SessionFiles, maxBytes: number): Promise<Uint8Array> {
  if (files.kind === "tar") {
    checkSize(files.bytes.length, maxBytes);
    return files.bytes;
  }
  checkList(files.files, maxBytes);
  return files.files.length === 0 ? new Uint8Array() : await packList(files.files);
}

/**
 * Packs read-only trees into one tar, readable for all users, to be unpacked at the root. Empty when there are no files. The submission is
 * refused only because of its own files. If it does not fit beside the teacher's files, that is not the student's failure.
 */
export async function packTrees(trees: readonly ReadOnlyTree[], maxBytes: number): Promise<Uint8Array> {
  const files = trees.flatMap((tree) =>
    tree.files.map((file) => ({
      ...file,
      path: `${tree.at.slice(1)}/${file.path}`,
      mode: (file.mode & 0o100) === 0 ? 0o444 : 0o555,
    })),
  );
  checkList(
    files.filter(({ path }) => path.startsWith(SUBMITTED)),
    maxBytes,
  );
  try {
    return await packFiles({ kind: "list", files }, maxBytes);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new SandboxError(
      "SANDBOX_FILES_FAILED",
      `The read-only files cannot be copied into the session. ${error.message.replace(`${error.code}: `, "")}`,
      "Use fewer or smaller files in the tests, or give the judge more disk.",
    );
  }
}

/** The path prefix of the submission in the tar of the read-only trees. */
const SUBMITTED = "submission/";

function checkList(files: readonly SessionFile[], maxBytes: number): void {
  checkSize(
    files.reduce((sum, file) => sum + file.bytes.length, 0),
    maxBytes,
  );
  checkPaths(files);
}

function checkSize(size: number, maxBytes: number): void {
  if (size > maxBytes) throw refused(`The files have ${size} bytes, but the session may have at most ${maxBytes}.`);
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

/** tar's messages when the session's own bounds (disk, number of files, length of names) ended the unpacking. */
const submittedLine = new RegExp(`^\\S*tar: ${SUBMITTED}`);
const beyondBounds = /No space left on device|Disk quota exceeded|File too large|File name too long/;

/**
 * Returns an error if the files do not fit into the session although they passed `maxBytes`: each file uses whole blocks and an entry. The
 * submission caused this. It must not count as a failure of the sandbox, for which the run would wait for ever. null: tar failed for
 * another reason.
 *
 * Of read-only trees only the submission's own paths count: files of the teacher that do not fit must not fail every student.
 */
export function refusedUnpacked(said: string, unpacked: "files" | "trees"): SandboxError | null {
  const lines = said.split("\n").filter((line) => unpacked === "files" || submittedLine.test(line));
  const [found] = beyondBounds.exec(lines.join("\n")) ?? [];
  return found === undefined ? null : refused(`The files do not fit into the session (${found}).`);
}

function refused(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_REFUSED", what, "Correct the submission's files.");
}
