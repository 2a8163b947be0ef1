// Counts the content of a submission, and refuses excess content before it is read. Folders count too: sixty thousand empty ones are not a
// submission.
import { showName } from "./show-name.ts";
import { MAX_DEPTH, MAX_PATH_BYTES, type SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";

export class Tally {
  readonly #source: string;
  readonly #limits: SubmissionLimits;
  readonly #sizes = new Map<string, number>();
  files = 0;
  folders = 0;
  bytes = 0;

  constructor(source: string, limits: SubmissionLimits) {
    this.#source = source;
    this.#limits = limits;
  }

  addFile(path: string, size: number): void {
    this.#place(path);
    this.files += 1;
    this.addBytes(path, size);
  }

  /** Adds bytes of a file that is already counted. */
  addBytes(path: string, size: number): void {
    const top = path.split("/", 1)[0] ?? "";
    this.#sizes.set(top, (this.#sizes.get(top) ?? 0) + size);
    this.bytes += size;
    this.#check();
  }

  addFolder(path: string): void {
    this.#place(path);
    this.folders += 1;
    this.#check();
  }

  #place(path: string): void {
    if (path.split("/").length <= MAX_DEPTH && Buffer.byteLength(path) <= MAX_PATH_BYTES) return;
    throw new SubmissionError(
      "SUBMISSION_TOO_DEEP",
      `The path ${showName(path)} is longer than ${MAX_PATH_BYTES} bytes or has more than ${MAX_DEPTH} parts.`,
      "Move it up, or remove it.",
    );
  }

  #check(): void {
    const { files, bytes } = this.#limits;
    const what =
      this.files > files
        ? `${files} files`
        : this.folders > files
          ? `${files} folders`
          : this.bytes > bytes
            ? `${bytes} bytes`
            : null;
    if (what === null) return;
    const [largest] = [...this.#sizes].sort(([, one], [, other]) => other - one)[0] ?? [null];
    throw new SubmissionError(
      "SUBMISSION_TOO_LARGE",
      `${showName(this.#source)} contains more than ${what}.`,
      `Remove files that are not part of the submission${largest === null ? "" : `; most of it is in ${showName(largest)}`}.`,
    );
  }
}
