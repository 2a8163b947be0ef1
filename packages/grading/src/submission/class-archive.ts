/**
 * Reads a zip with the submissions of many people, as learning platforms export it. Its directory is listed first. Then the submissions are
 * read one after the other, each with its own limits. A problem concerns only its own submission, and at most one submission is in memory.
 */
import { openPromise, type Entry as ZipEntry, type ZipFile } from "yauzl";
import { ArchiveEntries } from "./archive-rules.ts";
import { packEntries } from "./read-submission.ts";
import { broken, entriesOf, takeEntry, zipEntryName } from "./read-zip.ts";
import { showName } from "./show-name.ts";
import { defaultLimits, type Entry, type Submission, type SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";

/** The limit for the entries of an export: a thousand people with a hundred files each, twice over. */
const MOST_ENTRIES = 200_000;

export interface ClassArchive {
  /** The names of all entries as in the archive, with `/` between parts. Folders end with `/`. */
  readonly names: readonly string[];
  /** Reads the entries below a prefix, or the file with exactly this name. The prefix is removed from the names. */
  readonly read: (prefix: string, limits?: SubmissionLimits) => Promise<ReadWork>;
  readonly close: () => void;
}

export interface ReadWork {
  readonly entries: readonly Entry[];
  readonly notes: readonly string[];
}

export async function openClassArchive(path: string): Promise<ClassArchive> {
  const zip = await openPromise(path, { decodeStrings: false, validateEntrySizes: true, autoClose: false }).catch(
    (error: unknown) => {
      throw broken(path, error);
    },
  );
  try {
    const listed = await list(zip, path);
    return {
      names: listed.map(({ name }) => name),
      read: async (prefix, limits = defaultLimits) => await readBelow(zip, path, listed, prefix, limits),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

interface Listed {
  readonly name: string;
  readonly old: boolean;
  readonly entry: ZipEntry;
}

async function list(zip: ZipFile, path: string): Promise<Listed[]> {
  const naming = new ArchiveEntries(path, zip.fileSize, defaultLimits);
  const listed: Listed[] = [];
  for await (const entry of entriesOf(zip, path)) {
    if (listed.length === MOST_ENTRIES) {
      throw new SubmissionError(
        "SUBMISSION_TOO_LARGE",
        `${showName(path)} has more than ${MOST_ENTRIES} entries.`,
        "Unpack it and name the folder.",
      );
    }
    const { name, old } = zipEntryName(naming, entry);
    listed.push({ name: name.replaceAll("\\", "/").replace(/^(?:\.\/)+/, ""), old, entry });
  }
  return listed;
}

async function readBelow(
  zip: ZipFile,
  path: string,
  listed: readonly Listed[],
  prefix: string,
  limits: SubmissionLimits,
): Promise<ReadWork> {
  const own = listed.filter(({ name }) => name === prefix || name.startsWith(`${prefix}/`));
  const packed = own.reduce((sum, { entry }) => sum + entry.compressedSize, 0);
  const entries = new ArchiveEntries(path, packed, limits);
  // Entries share their bytes: together they claim more than the archive has.
  if (packed > zip.fileSize) throw entries.bomb();
  const old = own.filter((one) => one.old).length;
  for (const { name, entry } of own) {
    const below = name === prefix ? (name.split("/").at(-1) ?? "") : name.slice(prefix.length + 1);
    if (below !== "") await takeEntry(zip, entry, below, path, entries);
  }
  const notes = old === 0 ? [] : [`${old} names are not UTF-8 and were read as code page 437`];
  return { entries: entries.entries, notes };
}

/** Packs entries that the caller collected as a submission. The same entries give the same bytes. */
export async function packSubmission(entries: readonly Entry[], notes: readonly string[]): Promise<Submission> {
  const files = entries.filter((entry) => entry.kind === "file");
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  return await packEntries({ entries, files: files.length, bytes, notes });
}
