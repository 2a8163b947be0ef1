// Selects the plain files from foreign files: only regular files under plain relative paths. A symbolic link in a submission could make the
// judge read a hidden file under a student's name, or write through the link. So links, devices and odd names are left out and counted.

import { Readable } from "node:stream";
import { extract } from "tar-stream";
import { MAX_FILES } from "../pack-files.ts";
import type { SessionFile, SessionFiles } from "../port.ts";
import { SandboxError } from "../sandbox-error.ts";

export interface PlainFiles {
  readonly files: readonly SessionFile[];
  /** The number of entries that are no plain files: links, devices, paths that lead elsewhere. Folders are not counted. */
  readonly leftOut: number;
}

export async function plainFiles(given: SessionFiles, maxBytes: number): Promise<PlainFiles> {
  if (given.kind === "list") return { files: given.files, leftOut: 0 };
  const kept = new Map<string, SessionFile>();
  const folders = new Set<string>();
  let leftOut = 0;
  let total = 0;
  if (given.bytes.length === 0) return { files: [], leftOut };
  const archive = extract();
  const source = Readable.from([Buffer.from(given.bytes.buffer, given.bytes.byteOffset, given.bytes.byteLength)]);
  source.pipe(archive);
  try {
    for await (const entry of archive) {
      const { type, mode = 0o644 } = entry.header;
      const path = plainPath(entry.header.name);
      const chunks: Buffer[] = [];
      for await (const chunk of entry) {
        total += (chunk as Buffer).length;
        if (total > maxBytes) throw refused(`The files have more than ${maxBytes} bytes.`);
        chunks.push(chunk as Buffer);
      }
      if (type === "directory") continue;
      if ((type !== "file" && type !== "contiguous-file") || path === null || !fits(path, kept, folders)) {
        leftOut += 1;
        continue;
      }
      if (kept.size >= MAX_FILES) throw refused(`There are more than ${MAX_FILES} files.`);
      kept.set(path, { path, mode: mode & 0o777, bytes: Buffer.concat(chunks) });
      for (const folder of parents(path)) folders.add(folder);
    }
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    throw refused(`The files are no readable archive (${error instanceof Error ? error.message : String(error)}).`);
  }
  return { files: [...kept.values()], leftOut };
}

/** Of two entries that exclude each other, the first stays. */
function fits(path: string, kept: ReadonlyMap<string, SessionFile>, folders: ReadonlySet<string>): boolean {
  return !folders.has(path) && parents(path).every((folder) => !kept.has(folder));
}

function parents(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

function plainPath(written: string): string | null {
  const parts = written.split("/").filter((part) => part !== "" && part !== ".");
  const bad = parts.some((part) => part === ".." || Buffer.byteLength(part) > 255);
  const path = parts.join("/");
  if (parts.length === 0 || bad || written.startsWith("/") || path.includes("\0") || Buffer.byteLength(path) > 4000)
    return null;
  return path;
}

function refused(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_REFUSED", what, "Correct the submission's files.");
}
