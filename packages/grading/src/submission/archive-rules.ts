// Checks the entries of an archive from a stranger, so that every path is unambiguous. Invariants:
// 1. A path is relative, has no `.` or `..`, no drive, no NUL, and each part is at most 255 bytes of UTF-8.
// 2. No two entries have the same path, even if case and Unicode composition are ignored. No path is both a file and a folder.
// 3. Nothing is unpacked beyond the limits: count, bytes, depth, and the ratio to the archive's own size.

import { showName } from "./show-name.ts";
import { type Entry, MAX_NAME_BYTES, MAX_RATIO, RATIO_FLOOR_BYTES, type SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";
import { Tally } from "./tally.ts";

export class ArchiveEntries {
  readonly #archive: string;
  readonly #packedBytes: number;
  readonly #entries: Entry[] = [];
  /** The keys are paths as a file system sees them that ignores case and composition. */
  readonly #seen = new Map<string, { readonly path: string; readonly is: "file" | "folder" | "implied" }>();
  readonly tally: Tally;

  constructor(archive: string, packedBytes: number, limits: SubmissionLimits) {
    this.#archive = archive;
    this.#packedBytes = packedBytes;
    this.tally = new Tally(archive, limits);
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The archive's own top, `./`, is not an entry. */
  addFolder(name: string): void {
    const path = this.#checkPath(name);
    if (path === "") return;
    this.#claim(path, "folder");
  }

  /** Checks name and position of a file before its bytes are read. */
  beginFile(name: string): string {
    const path = this.#checkPath(name);
    if (path === "") throw this.invalid(name, "is empty");
    this.#claim(path, "file");
    this.tally.addFile(path, 0);
    return path;
  }

  /** Called for each piece as it is unpacked. */
  countBytes(path: string, size: number): void {
    this.tally.addBytes(path, size);
    if (this.tally.bytes > RATIO_FLOOR_BYTES && this.tally.bytes > this.#packedBytes * MAX_RATIO) {
      throw this.bomb();
    }
  }

  endFile(path: string, executable: boolean, bytes: Buffer): void {
    this.#entries.push({ kind: "file", path, executable, bytes });
  }

  bomb(): SubmissionError {
    return new SubmissionError(
      "SUBMISSION_ARCHIVE_BOMB",
      `${showName(this.#archive)} unpacks to more than ${MAX_RATIO} times its size.`,
      "Submit the files themselves.",
    );
  }

  link(name: string, what: string): SubmissionError {
    return new SubmissionError(
      "SUBMISSION_ARCHIVE_LINK",
      `${showName(name)} in ${showName(this.#archive)} is ${what}.`,
      "Put plain files and folders into the archive.",
    );
  }

  invalid(name: string | Uint8Array, why: string): SubmissionError {
    return new SubmissionError(
      "SUBMISSION_NAME_INVALID",
      `The name '${showName(name)}' in ${showName(this.#archive)} ${why}.`,
      "Rename it and create the archive again.",
    );
  }

  #checkPath(name: string): string {
    const unix = name.replaceAll("\\", "/");
    const escapes = (why: string) =>
      new SubmissionError(
        "SUBMISSION_ARCHIVE_ESCAPES",
        `The path ${showName(name)} in ${showName(this.#archive)} ${why}.`,
        "Create the archive again, with paths below its top.",
      );
    if (name.includes("\0")) throw this.invalid(name, "contains a NUL");
    if (!name.isWellFormed() || name.includes("\ufffd")) throw this.invalid(name, "is not UTF-8");
    if (unix.startsWith("/") || /^[A-Za-z]:/.test(unix)) throw escapes("is absolute");
    const parts = unix.split("/").filter((part) => part !== "" && part !== ".");
    if (parts.includes("..")) throw escapes("leads out of it");
    if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
      throw this.invalid(name, `has a part of more than ${MAX_NAME_BYTES} bytes`);
    }
    return parts.join("/");
  }

  #claim(path: string, is: "file" | "folder"): void {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
      this.#claimOne(path.slice(0, at), "implied");
    this.#claimOne(path, is);
  }

  #claimOne(path: string, is: "file" | "folder" | "implied"): void {
    const key = path.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
    const before = this.#seen.get(key);
    if (before === undefined) {
      this.#seen.set(key, { path, is });
      if (is === "file") return;
      this.tally.addFolder(path);
      this.#entries.push({ kind: "folder", path });
      return;
    }
    if (before.path === path && before.is !== "file" && is !== "file") {
      // A folder may be named once, in addition to being implied by its content.
      if (is === "implied") return;
      if (before.is === "implied") {
        this.#seen.set(key, { path, is });
        return;
      }
    }
    throw new SubmissionError(
      "SUBMISSION_ARCHIVE_CLASH",
      before.path === path
        ? `${showName(path)} appears twice in ${showName(this.#archive)}.`
        : `${showName(before.path)} and ${showName(path)} in ${showName(this.#archive)} are one name on many systems.`,
      "Rename one of them and create the archive again.",
    );
  }
}
