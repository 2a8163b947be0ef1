/**
 * The one file of this package that touches the disk.
 *
 * W1  Nothing outside the directory is read: a path is resolved with all its symbolic links before it is opened.
 * W2  Only regular files up to the cap are read; one byte more is read than allowed, so that the loader can say "too large".
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { MAX_FILE_BYTES } from "./decode-source.ts";
import type { Workspace } from "./workspace.ts";

/** Files named in suggestions, at most; folders below this depth are not searched. */
const MAX_LISTED = 2000;
const MAX_LIST_DEPTH = 6;

export function openWorkspace(directory: string): Workspace {
  const root = realpathSync(directory);
  return {
    read(path) {
      let real: string;
      try {
        real = realpathSync(join(root, path));
      } catch {
        return undefined;
      }
      if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
      return readRegularFile(real);
    },
    list() {
      const found: string[] = [];
      collect(root, "", 0, found);
      return found;
    },
  };
}

function readRegularFile(real: string): Uint8Array | undefined {
  let handle: number;
  try {
    // O_NONBLOCK: a named pipe would block the open for ever.
    handle = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
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

function collect(folder: string, prefix: string, depth: number, found: string[]): void {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (found.length >= MAX_LISTED) return;
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (entry.isFile()) found.push(prefix + entry.name);
    else if (entry.isDirectory() && depth < MAX_LIST_DEPTH)
      collect(join(folder, entry.name), `${prefix}${entry.name}/`, depth + 1, found);
  }
}
