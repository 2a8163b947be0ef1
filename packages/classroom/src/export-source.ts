// Reads an export, packed or unpacked: lists the names at its top, and reads the submission below one name on request.
import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  archiveKind,
  openClassArchive,
  type ReadWork,
  readEntries,
  SubmissionError,
  type SubmissionLimits,
} from "@markmill/grading/submission";
import type { CommitFacts } from "./commit-facts.ts";
import { detectLayout, isJunk, type Top, type Work } from "./layout.ts";

export interface ExportSource {
  readonly tops: readonly Top[];
  /** Set if the source itself knows the owners, so that names need no matching. */
  readonly works?: readonly Work[];
  /** Links, which are left out because they can point anywhere. */
  readonly links: readonly string[];
  /** Returns a file unchanged, also an archive. For a folder, returns its content. */
  readonly read: (top: string, limits: SubmissionLimits) => Promise<SourceWork>;
  readonly close: () => void;
}

export interface SourceWork extends ReadWork {
  /** The commit that was read, if the submission is from a repository. */
  readonly commit?: CommitFacts;
}

/** Whether a name belongs to a student. null: there is no roster to decide it. */
export type IsStudent = (top: Top) => boolean | null;

export async function openExport(path: string, isStudent: IsStudent): Promise<ExportSource> {
  const found = await lstat(path).catch(() => null);
  if (found === null) {
    throw new SubmissionError("SUBMISSION_REFUSED", `${path} does not exist.`, "Check the path of the submissions.");
  }
  if (found.isDirectory() || found.isSymbolicLink()) return await openFolder(path, isStudent);
  if (archiveKind(path) === "zip") return await openZip(path, isStudent);
  throw new SubmissionError(
    "SUBMISSION_ARCHIVE_UNSUPPORTED",
    `${path} is neither a folder nor a zip file.`,
    "Name the folder with the submissions, or the zip file from the platform.",
  );
}

async function openFolder(folder: string, isStudent: IsStudent): Promise<ExportSource> {
  const { tops, links } = await listFolder(folder);
  const only = wrapping(tops);
  if (only !== null) {
    const inner = await listFolder(join(folder, only));
    if (isWrapping(only, inner.tops, folder, isStudent)) return await openFolder(join(folder, only), isStudent);
  }
  return {
    tops,
    links,
    read: async (top, limits) => {
      const at = join(folder, top);
      if (tops.find(({ name }) => name === top)?.is === "folder") return await readEntries(at, { limits });
      return await readFileAsIs(at, top, limits);
    },
    close: () => {},
  };
}

async function listFolder(folder: string): Promise<{ tops: Top[]; links: string[] }> {
  const tops: Top[] = [];
  const links: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (isJunk(entry.name)) continue;
    if (entry.isDirectory()) tops.push({ name: entry.name, is: "folder" });
    else if (entry.isFile()) tops.push({ name: entry.name, is: "file" });
    else links.push(entry.name);
  }
  tops.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { tops, links };
}

/** An archive stays packed here. Unpacking is decided later, together with the rest of the submission. */
async function readFileAsIs(at: string, name: string, limits: SubmissionLimits): Promise<ReadWork> {
  const { size } = await lstat(at);
  if (size > limits.bytes) {
    throw new SubmissionError(
      "SUBMISSION_TOO_LARGE",
      `${name} contains more than ${limits.bytes} bytes.`,
      "Remove files that are not part of the submission.",
    );
  }
  return { entries: [{ kind: "file", path: name, executable: false, bytes: await readFile(at) }], notes: [] };
}

async function openZip(path: string, isStudent: IsStudent): Promise<ExportSource> {
  const archive = await openClassArchive(path);
  const list = (prefix: string): Top[] => {
    const found = new Map<string, "file" | "folder">();
    for (const name of archive.names) {
      if (!name.startsWith(prefix)) continue;
      const [top = "", ...rest] = name.slice(prefix.length).split("/");
      if (top === "" || isJunk(top)) continue;
      if (rest.length > 0 || found.get(top) === undefined) found.set(top, rest.length > 0 ? "folder" : "file");
    }
    return [...found].map(([name, is]) => ({ name, is })).sort((one, other) => (one.name < other.name ? -1 : 1));
  };
  let prefix = "";
  for (let only = wrapping(list(prefix)); only !== null; only = wrapping(list(prefix))) {
    if (!isWrapping(only, list(`${prefix}${only}/`), path, isStudent)) break;
    prefix = `${prefix}${only}/`;
  }
  return {
    tops: list(prefix),
    links: [],
    read: async (top, limits) => await archive.read(`${prefix}${top}`, limits),
    close: archive.close,
  };
}

function wrapping(tops: readonly Top[]): string | null {
  const [only] = tops;
  return tops.length === 1 && only?.is === "folder" ? only.name : null;
}

/** A single folder around an export is only a wrapper. A single folder with a student's files is that student's submission. */
function isWrapping(name: string, inside: readonly Top[], source: string, isStudent: IsStudent): boolean {
  if (inside.length === 0) return false;
  if (detectLayout(inside) !== "plain") return true;
  const known = isStudent({ name, is: "folder" });
  if (known !== null) return !known && inside.some((top) => isStudent(top) === true);
  return /submission|assignment|export|abgabe/i.test(name) || basename(source).replace(/\.zip$/i, "") === name;
}
