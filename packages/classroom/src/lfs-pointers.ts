/**
 * Finds files for which the repository, or a zip made from it, contains only a Git LFS pointer. Pure.
 *
 * L1  A pointer is never part of the submission: it is a few lines that name a file stored elsewhere.
 * L2  If the file can be graded material (a required path, or not a picture, sound, film, archive or data), the submission cannot be graded
 *     without it. Otherwise the pointer is left out, and a note reports it.
 */
import { type Entry, showName } from "@markmill/grading/submission";
import { missingPaths } from "./required-paths.ts";

export interface WithoutPointers {
  readonly entries: readonly Entry[];
  readonly notes: readonly string[];
  /** L2: the paths that are needed. */
  readonly needed: readonly string[];
}

const beside =
  /\.(?:png|jpe?g|gif|webp|bmp|tiff?|ico|psd|svg|mp3|wav|ogg|flac|mp4|mov|avi|mkv|webm|zip|tar|gz|tgz|7z|rar|jar|bin|dat|npy|npz|h5|pt|pth|onnx|parquet|sqlite|db|ttf|otf|woff2?)$/i;

export function withoutPointers(entries: readonly Entry[], requires: readonly string[]): WithoutPointers {
  const pointers = entries.filter((entry) => entry.kind === "file" && isPointer(entry.bytes)).map(({ path }) => path);
  if (pointers.length === 0) return { entries, notes: [], needed: [] };
  const gone = new Set(pointers);
  const left = entries.filter(({ path }) => !gone.has(path));
  const files = left.filter(({ kind }) => kind === "file").map(({ path }) => path);
  const lacking = missingPaths(requires, files);
  const fits = (path: string) => missingPaths(lacking, [path]).length < lacking.length;
  return {
    entries: left,
    notes: pointers.map((path) => `${showName(path)} is stored in Git LFS and was skipped`),
    needed: pointers.filter((path) => files.length === 0 || !beside.test(path) || fits(path)),
  };
}

/** A pointer, by the specification, is a text of less than 1024 bytes that begins with its version. */
function isPointer(bytes: Buffer): boolean {
  if (bytes.length >= 1024) return false;
  const text = bytes.toString("utf8").replaceAll("\r\n", "\n");
  return /^version https?:\/\/\S+\/spec\/v\d+\n(?:[a-z0-9.-]+ \S.*\n)*oid [a-z0-9]+:[0-9a-f]{32,}\n/.test(text);
}
