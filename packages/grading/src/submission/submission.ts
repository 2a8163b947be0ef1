// What a submission is once it has been read: plain data, wherever it came from.

export interface Submission {
  /** Uncompressed, the same bytes for the same content: names sorted, no times, no owners. */
  readonly tar: Buffer;
  /** Files and links. */
  readonly files: number;
  /** Of those files and links, from the submission's top. */
  readonly paths: readonly string[];
  readonly bytes: number;
  /** What was left out and what was read in a way of its own, one sentence each. */
  readonly notes: readonly string[];
}

export type Entry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly executable: boolean; readonly bytes: Buffer }
  /** Only from folders; it does not lead out. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export interface SubmissionLimits {
  /** Files and links; folders are counted on their own, up to the same number. */
  readonly files: number;
  readonly bytes: number;
}

export const defaultLimits: SubmissionLimits = { files: 10_000, bytes: 64 * 1024 * 1024 };

/** Folders inside each other, and bytes of a whole path: more than any work needs, less than any program fails at. */
export const MAX_DEPTH = 64;
export const MAX_PATH_BYTES = 2_000;
export const MAX_NAME_BYTES = 255;
/** Header, padding and long name of one entry of an archive. */
const ENTRY_OVERHEAD_BYTES = 4096;

/** The longest archive, packed or not, that can hold a submission within the limits. */
export function mostArchiveBytes({ files, bytes }: SubmissionLimits): number {
  return bytes + 2 * files * ENTRY_OVERHEAD_BYTES;
}

/** An archive that unpacks to more than so many times its size is a bomb, once it is larger than the floor. */
export const MAX_RATIO = 100;
export const RATIO_FLOOR_BYTES = 4 * 1024 * 1024;
