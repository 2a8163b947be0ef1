/**
 * Reads a folder of the host unchanged.
 *
 * K1  Nothing from outside the folder is read. Every level is opened from the level above through its descriptor, without following links,
 *     and checked after opening: a link or a pipe that replaced a file meanwhile is refused, not read.
 * K2  Links are kept as links. A link that leads out of the folder is left out with a note. Its target is checked as text, because the file
 *     there may change before the link is followed inside the sandbox.
 * K3  Any entry that is not a file, folder or link is refused. Count, size and depth are limited.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises";
import { posix } from "node:path";
import { readWhole } from "./read-whole.ts";
import { showName } from "./show-name.ts";
import type { Entry, SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";
import { Tally } from "./tally.ts";

export interface FolderOptions {
  readonly limits: SubmissionLimits;
  /** Whole paths of files and folders that are not the student's, such as our own state. They are left out with a note. */
  readonly without: readonly string[];
}

export interface ReadEntries {
  readonly entries: readonly Entry[];
  readonly files: number;
  readonly bytes: number;
  readonly notes: readonly string[];
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** The maximum number of notes on single entries. Further ones are summarised. */
const MAX_NOTES = 20;

export async function readFolder(folder: string, { limits, without }: FolderOptions): Promise<ReadEntries> {
  const tally = new Tally(folder, limits);
  const entries: Entry[] = [];
  const dropped: string[] = [];
  const foreign = new Set(await Promise.all(without.map(identityOf)));

  async function walk(handle: FileHandle, at: string, parent: string): Promise<void> {
    const base = baseOf(handle, at);
    for (const name of await namesIn(base, parent)) {
      const path = parent === "" ? name : `${parent}/${name}`;
      await add(`${base}/${name}`, `${at}/${name}`, path);
    }
  }

  async function add(place: string, at: string, path: string): Promise<void> {
    const seen = await lstat(place).catch(() => null);
    if (seen === null) throw changed(path);
    if (foreign.has(`${seen.dev}:${seen.ino}`)) {
      dropped.push(`${showName(path)} belongs to Markmill and was skipped`);
      return;
    }
    if (seen.isSymbolicLink()) {
      const target = await readlink(place, { encoding: "buffer" }).catch(() => null);
      if (target === null) throw changed(path);
      const text = decodeName(target);
      if (text === null || leadsOut(path, text)) {
        dropped.push(`${showName(path)} is a link to ${showName(target)}, outside the submission, and was skipped`);
        return;
      }
      tally.addFile(path, 0);
      entries.push({ kind: "link", path, target: text });
      return;
    }
    if (!seen.isDirectory() && !seen.isFile()) {
      throw new SubmissionError(
        "SUBMISSION_REFUSED",
        `${showName(path)} is neither a file nor a folder nor a link.`,
        "Remove it from the submission.",
      );
    }
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (seen.isDirectory() ? O_DIRECTORY : 0);
    const handle = await open(place, flags).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ELOOP" || error.code === "ENOTDIR" || error.code === "ENOENT"
        ? changed(path)
        : unreadable(path, error);
    });
    try {
      const opened = await handle.stat();
      if (opened.isDirectory() && seen.isDirectory()) {
        tally.addFolder(path);
        entries.push({ kind: "folder", path });
        await walk(handle, at, path);
      } else if (opened.isFile() && seen.isFile()) {
        tally.addFile(path, opened.size);
        const bytes = await readWhole(handle, opened.size);
        if (bytes === null) throw changed(path);
        entries.push({ kind: "file", path, executable: (opened.mode & 0o111) !== 0, bytes });
      } else throw changed(path);
    } finally {
      await handle.close();
    }
  }

  // The person named the folder itself, so a link to it is followed.
  const top = await open(folder, O_RDONLY | O_DIRECTORY).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(folder, error);
  });
  try {
    await walk(top, folder, "");
  } finally {
    await top.close();
  }
  return { entries, files: tally.files, bytes: tally.bytes, notes: summed(dropped) };
}

/**
 * A path of the opened folder itself, even if another folder has its name by now. Only Linux has such a path. Other systems use the name;
 * then only the last part of the path is guaranteed not to be a link.
 */
function baseOf(handle: FileHandle, at: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : at;
}

async function namesIn(folder: string, path: string): Promise<string[]> {
  const raw = await readdir(folder, { encoding: "buffer" }).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error);
  });
  return raw
    .map((bytes) => {
      const name = decodeName(bytes);
      if (name !== null) return name;
      throw new SubmissionError(
        "SUBMISSION_NAME_INVALID",
        `In ${path === "" ? "the submission" : showName(path)}, the name ${showName(bytes)} is not UTF-8.`,
        "Rename it, or remove it.",
      );
    })
    .sort();
}

function decodeName(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function leadsOut(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/")) return true;
  const leadsTo = posix.normalize(posix.join(posix.dirname(path), target));
  return leadsTo === ".." || leadsTo.startsWith("../");
}

async function identityOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  return found === null ? "" : `${found.dev}:${found.ino}`;
}

function summed(dropped: readonly string[]): string[] {
  if (dropped.length <= MAX_NOTES) return [...dropped];
  return [...dropped.slice(0, MAX_NOTES), `${dropped.length - MAX_NOTES} more entries were skipped`];
}

function changed(path: string): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_CHANGED",
    `${showName(path)} was changed while it was read.`,
    "Read the submission when no program writes to it.",
  );
}

function unreadable(path: string, error: NodeJS.ErrnoException): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_REFUSED",
    `${showName(path === "" ? "the folder" : path)} cannot be read (${error.code ?? "no reason given"}).`,
    "Check who owns it, and that it is still there.",
    error,
  );
}
