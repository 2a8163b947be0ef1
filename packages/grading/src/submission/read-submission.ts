/**
 * Reads a student's submission from a folder, an archive (zip, tar, tar.gz) or a single file. All content is read into memory with limits
 * and nothing is written, so a refusal leaves no trace.
 *
 * An archive is recognised by its name, and its content must match: many other files (docx, jar) are zips, and are kept as files.
 */
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { type ReadEntries, readFolder } from "./read-folder.ts";
import { readTar } from "./read-tar.ts";
import { readWhole } from "./read-whole.ts";
import { readZip } from "./read-zip.ts";
import { showName } from "./show-name.ts";
import { defaultLimits, mostArchiveBytes, type Submission, type SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";
import { Tally } from "./tally.ts";
import { writeTar } from "./write-tar.ts";

export interface SubmissionOptions {
  readonly limits?: SubmissionLimits;
  /** Whole paths of files and folders that are not the student's. They are left out with a note. */
  readonly without?: readonly string[];
}

export async function readSubmission(path: string, options: SubmissionOptions = {}): Promise<Submission> {
  return await packEntries(await readEntries(path, options));
}

/** Reads the submission without packing it, for callers that check the files. */
export async function readEntries(path: string, options: SubmissionOptions = {}): Promise<ReadEntries> {
  const { limits = defaultLimits, without = [] } = options;
  const found = await stat(path).catch(() => null);
  if (found === null) {
    throw refused(`There is no file or folder ${showName(path)}.`, "Check the path of the submission.");
  }
  return found.isDirectory() ? await readFolder(path, { limits, without }) : await readOne(path, limits);
}

export async function packEntries({ entries, files, bytes, notes }: ReadEntries): Promise<Submission> {
  const paths = entries.filter(({ kind }) => kind !== "folder").map((entry) => entry.path);
  return { tar: await writeTar(entries), files, paths, bytes, notes };
}

async function readOne(path: string, limits: SubmissionLimits): Promise<ReadEntries> {
  const name = basename(path);
  const archive = archiveKind(name);
  const most = archive === "none" ? limits : { ...limits, bytes: mostArchiveBytes(limits) };
  if (archive === "unsupported") throw unsupported(name);
  const bytes = await readFileOf(path, most);
  if (archive !== "none") return await readArchive(name, bytes, limits);
  if (!name.isWellFormed() || name.includes("\ufffd")) {
    throw new SubmissionError("SUBMISSION_NAME_INVALID", `The name ${showName(name)} is not UTF-8.`, "Rename it.");
  }
  const executable = false;
  return { entries: [{ kind: "file", path: name, executable, bytes }], files: 1, bytes: bytes.length, notes: [] };
}

/** Decides by the name alone. */
export function archiveKind(name: string): "zip" | "tar" | "tar.gz" | "unsupported" | "none" {
  if (/\.(?:rar|7z|tar\.(?:bz2|xz|zst|lz|Z)|tbz2?|txz|tzst|lzh|cab|ace|arj)$/i.test(name)) return "unsupported";
  if (/\.zip$/i.test(name)) return "zip";
  if (/\.tar$/i.test(name)) return "tar";
  return /\.(?:tar\.gz|tgz)$/i.test(name) ? "tar.gz" : "none";
}

/** Reads an archive from memory, such as one inside another. */
export async function readArchive(name: string, bytes: Buffer, limits: SubmissionLimits): Promise<ReadEntries> {
  const kind = archiveKind(name);
  if (kind === "zip") return await readZip(name, bytes, limits);
  if (kind === "tar" || kind === "tar.gz") return await readTar(name, bytes, kind === "tar.gz", limits);
  throw unsupported(name);
}

function unsupported(name: string): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_ARCHIVE_UNSUPPORTED",
    `${showName(name)} is an archive of an unsupported kind.`,
    "Unpack it and submit the folder, or pack it as zip, tar or tar.gz.",
  );
}

async function readFileOf(path: string, limits: SubmissionLimits): Promise<Buffer> {
  const { O_RDONLY, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw refused(`${showName(path)} cannot be read (${error.code ?? "no reason given"}).`, "Check who owns it.");
  });
  try {
    const { size, isFile } = await handle.stat().then((found) => ({ size: found.size, isFile: found.isFile() }));
    if (!isFile) {
      throw refused(`${showName(path)} is neither a folder nor a plain file.`, "Name a folder, an archive or a file.");
    }
    new Tally(basename(path), limits).addFile(basename(path), size);
    const bytes = await readWhole(handle, size);
    if (bytes !== null) return bytes;
    throw new SubmissionError("SUBMISSION_CHANGED", `${showName(path)} was changed while it was read.`, "Try again.");
  } finally {
    await handle.close();
  }
}

function refused(message: string, fix: string): SubmissionError {
  return new SubmissionError("SUBMISSION_REFUSED", message, fix);
}
