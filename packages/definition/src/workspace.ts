import { isProtectedPath } from "./protected-path.ts";

/** The files that a definition may consist of. Paths are posix, normalised, relative to the workflow root, without a leading slash. */
export interface Workspace {
  read(path: string): Uint8Array | undefined;
  /** All paths, if the workspace can list them. They are used for suggestions and, without `tree`, for folders. */
  list?(): Iterable<string>;
  /** Whether an existing file must not be read because of its name or location. If absent, only the name decides. */
  refuses?(path: string): boolean;
  /** Paths of all files below a folder, and of entries that are not readable files. undefined: there is no such folder. */
  tree?(folder: string): { readonly files: readonly string[]; readonly leftOut: readonly string[] } | undefined;
}

export const emptyWorkspace: Workspace = { read: () => undefined };

/**
 * Resolves a path that is written in `file`. It is relative to that file's folder, or to the root if it starts with a slash. Returns null
 * if it leaves the root or names no file.
 */
export function resolvePath(file: string, written: string): string | null {
  return normalise(written.startsWith("/") ? written : `${folderOf(file)}/${written}`);
}

/** Resolves the segments `.` and `..`. Returns null if the path is outside the root, empty, or not a path. */
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

/** Finds the file of a written path: beside the file that names it, else below the root. */
export function locate(
  exists: (path: string) => boolean,
  file: string,
  written: string,
  refuses: (path: string) => boolean = () => false,
): Located {
  const beside = resolvePath(file, written);
  const below = normalise(written);
  // A protected name is refused at every location, so that the result does not show whether the file exists.
  if (below !== null && isProtectedPath(below)) return { refused: below };
  for (const path of [beside, below]) {
    if (path === null) continue;
    if (isProtectedPath(path) || refuses(path)) return { refused: path };
    if (exists(path)) return { found: path };
  }
  if (beside === null) return { outside: true };
  return { missing: beside };
}
