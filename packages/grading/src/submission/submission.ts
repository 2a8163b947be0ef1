// A submission after it has been read: plain data, whatever its source.

export interface Submission {
  /** Uncompressed, with the same bytes for the same content: names sorted, no times, no owners. */
  readonly tar: Buffer;
  /** The number of files and links. */
  readonly files: number;
  /** The paths of the files and links, from the top of the submission. */
  readonly paths: readonly string[];
  readonly bytes: number;
  /** Notes about files that were left out or read in a special way, one sentence each. */
  readonly notes: readonly string[];
}

export type Entry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly executable: boolean; readonly bytes: Buffer }
  /** Only from folders. The target is inside the folder. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export interface SubmissionLimits {
  /** The limit for files and links together. The same limit applies to folders. */
  readonly files: number;
  readonly bytes: number;
}

export const defaultLimits: SubmissionLimits = { files: 10_000, bytes: 64 * 1024 * 1024 };

/**
 * The limits for nested folders and for bytes of a whole path: more than any submission needs, less than causes failures in any program.
 */
export const MAX_DEPTH = 64;
export const MAX_PATH_BYTES = 2_000;
export const MAX_NAME_BYTES = 255;
/** Header, padding and long name of one entry of an archive. */
const ENTRY_OVERHEAD_BYTES = 4096;

/** The size of the longest archive, packed or not, that can hold a submission within the limits. */
export function mostArchiveBytes({ files, bytes }: SubmissionLimits): number {
  return bytes + 2 * files * ENTRY_OVERHEAD_BYTES;
}

/** An archive that unpacks to more than this multiple of its size is a bomb, once it is larger than the floor. */
export const MAX_RATIO = 100;
export const RATIO_FLOOR_BYTES = 4 * 1024 * 1024;
