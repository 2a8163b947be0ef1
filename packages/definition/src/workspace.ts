import { isProtectedPath } from "./protected-path.ts";

/** The files a definition may be made of. Paths are posix, normalised, relative to the workflow root, without a leading slash. */
export interface Workspace {
  read(path: string): Uint8Array | undefined;
  /** All paths, where the workspace can tell; for suggestions only. */
  list?(): Iterable<string>;
  /** A file that is there and is not read for its name or place; absent: only the name decides. */
  refuses?(path: string): boolean;
  /** Paths of all files below a folder, and of what is there but is no file to be read. undefined: there is no such folder. */
  tree?(folder: string): { readonly files: readonly string[]; readonly leftOut: readonly string[] } | undefined;
}

export const emptyWorkspace: Workspace = { read: () => undefined };

/**
 * A path as written in `file`, normalised: relative to that file's folder, or to the root when it starts with a slash.
 * null: it leaves the root, or names no file.
 */
export function resolvePath(file: string, written: string): string | null {
  return normalise(written.startsWith("/") ? written : `${folderOf(file)}/${written}`);
}

/** Segments `.` and `..` resolved. null: outside the root, empty, or not a path at all. */
export function normalise(path: string): string | null {
  if (path.includes("\0") || path.includes("\n") || path.length > 4096) return null;
  const segments: string[] = [];
  for (const segment of path.replaceAll("\\", "/").split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return null;
  }
  return segments.length === 0 ? null : segments.join("/");
}

function folderOf(file: string): string {
  const slash = file.lastIndexOf("/");
  return slash < 0 ? "" : file.slice(0, slash);
}

export type Located =
  | { readonly found: string }
  | { readonly missing: string }
  | { readonly outside: true }
  | { readonly refused: string };

/** Where a written path points to: beside the file that names it, else below the root. */
export function locate(
  exists: (path: string) => boolean,
  file: string,
  written: string,
  refuses: (path: string) => boolean = () => false,
): Located {
  const beside = resolvePath(file, written);
  const below = normalise(written);
  // A name that is refused is refused wherever it would be found: nobody learns whether the file exists.
  if (below !== null && isProtectedPath(below)) return { refused: below };
  for (const path of [beside, below]) {
    if (path === null) continue;
    if (isProtectedPath(path) || refuses(path)) return { refused: path };
    if (exists(path)) return { found: path };
  }
  if (beside === null) return { outside: true };
  return { missing: beside };
}
