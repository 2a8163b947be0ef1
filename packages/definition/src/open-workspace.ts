/**
 * The only file of this package that reads the disk.
 *
 * W1  Nothing outside the directory is read: all symbolic links of a path are resolved before it is opened.
 * W2  No protected path is read (protected-path.ts), whether its own name or the target of a link is protected. Nothing in the `closed`
 *     folders is read (MARKMILL_HOME, at any location).
 * W3  Only regular files up to the size limit are read. One byte more than allowed is read, so that the loader can report "too large".
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { MAX_FILE_BYTES } from "./decode-source.ts";
import { isProtectedPath } from "./protected-path.ts";
import type { Workspace } from "./workspace.ts";

/** The highest number of files in suggestions. Folders below MAX_LIST_DEPTH are not searched. */
const MAX_LISTED = 2000;
const MAX_LIST_DEPTH = 6;
/** More files than a judge may have, so that the loader can report it. */
const MAX_WALKED = 5000;
const MAX_WALK_DEPTH = 20;

export interface WorkspaceOptions {
  /** Absolute paths of folders that are never read, even if they are inside the directory. */
  readonly closed?: readonly string[];
}

export function openWorkspace(directory: string, { closed = [] }: WorkspaceOptions = {}): Workspace {
  const root = realpathSync(directory);
  const shut = closed.flatMap((folder) => [resolve(folder), real(folder) ?? resolve(folder)]);
  const place = (path: string): { readonly real: string; readonly refused: boolean } | null => {
    const found = real(join(root, path));
    if (found === null || !isBelow(found, root)) return null;
    const refused =
      isProtectedPath(path) ||
      isProtectedPath(relative(root, found).split(sep).join("/")) ||
      shut.some((folder) => found === folder || isBelow(found, folder));
    return { real: found, refused };
  };
  return {
    read(path) {
      const found = isProtectedPath(path) ? null : place(path);
      return found === null || found.refused ? undefined : readRegularFile(found.real);
    },
    refuses: (path) => isProtectedPath(path) || place(path)?.refused === true,
    list() {
      const found: string[] = [];
      collect(root, "", 0, found);
      return found;
    },
    tree(folder) {
      const found = place(folder);
      if (found === null || found.refused) return undefined;
      const files: string[] = [];
      const leftOut: string[] = [];
      try {
        walk(found.real, `${folder}/`, 0, files, leftOut);
      } catch {
        return undefined;
      }
      return { files, leftOut };
    },
  };
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function readRegularFile(real: string): Uint8Array | undefined {
  let handle: number;
  try {
    // O_NONBLOCK: a named pipe would block the open for ever. O_NOFOLLOW: a link that was created since then has not been checked.
    handle = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) return undefined;
    const bytes = new Uint8Array(Math.min(stat.size, MAX_FILE_BYTES + 1));
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(handle, bytes, filled, bytes.length - filled, filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  } finally {
    closeSync(handle);
  }
}

/** Lists everything below a folder, including hidden files. Links are listed but not followed. */
function walk(folder: string, prefix: string, depth: number, files: string[], leftOut: string[]): void {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (files.length + leftOut.length > MAX_WALKED) return;
    if (entry.isFile()) files.push(prefix + entry.name);
    else if (entry.isDirectory() && depth < MAX_WALK_DEPTH)
      walk(join(folder, entry.name), `${prefix}${entry.name}/`, depth + 1, files, leftOut);
    else leftOut.push(prefix + entry.name);
  }
}

function collect(folder: string, prefix: string, depth: number, found: string[]): void {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (found.length >= MAX_LISTED) return;
    if (isProtectedPath(entry.name) || entry.name === "node_modules") continue;
    if (entry.isFile()) found.push(prefix + entry.name);
    else if (entry.isDirectory() && depth < MAX_LIST_DEPTH)
      collect(join(folder, entry.name), `${prefix}${entry.name}/`, depth + 1, found);
  }
}
