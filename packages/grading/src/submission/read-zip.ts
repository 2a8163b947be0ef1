// Reads a zip from its central directory, like all common programs. Sizes and checksums are checked: a zip that contradicts its own
// directory is damaged and refused.
import { crc32 } from "node:zlib";
import { fromBufferPromise, getFileNameLowLevel, type Entry as ZipEntry, type ZipFile } from "yauzl";
import { ArchiveEntries } from "./archive-rules.ts";
import type { ReadEntries } from "./read-folder.ts";
import { showName } from "./show-name.ts";
import type { SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";

const UTF8_FLAG = 0x800;
const UNIX = 3;
const MAC = 19;

export async function readZip(archive: string, bytes: Buffer, limits: SubmissionLimits): Promise<ReadEntries> {
  const entries = new ArchiveEntries(archive, bytes.length, limits);
  const oldNames: string[] = [];
  let packed = 0;
  const zip = await fromBufferPromise(bytes, {
    decodeStrings: false,
    validateEntrySizes: true,
    autoClose: false,
  }).catch((error: unknown) => {
    throw broken(archive, error);
  });
  try {
    for await (const entry of entriesOf(zip, archive)) {
      const { name, old } = zipEntryName(entries, entry);
      if (old) oldNames.push(name);
      // Entries share their bytes: together they claim more than the archive has.
      packed += entry.compressedSize;
      if (packed > bytes.length) throw entries.bomb();
      await takeEntry(zip, entry, name, archive, entries);
    }
  } finally {
    zip.close();
  }
  const { files, bytes: size } = entries.tally;
  const notes =
    oldNames.length === 0
      ? []
      : [
          `${oldNames.length} names in ${showName(archive)} are not UTF-8 and were read as code page 437, such as ${showName(oldNames[0] ?? "")}`,
        ];
  return { entries: entries.entries, files, bytes: size, notes };
}

/** Reads one entry. Its kind and name are checked before its bytes are unpacked. */
export async function takeEntry(
  zip: ZipFile,
  entry: ZipEntry,
  name: string,
  archive: string,
  entries: ArchiveEntries,
): Promise<void> {
  const kind = kindOf(entry, name);
  if (kind === "folder") {
    entries.addFolder(name);
    return;
  }
  if (kind !== "file") throw entries.link(name, kind);
  if (entry.isEncrypted() || !entry.canDecodeFileData()) {
    const why = entry.isEncrypted() ? "is encrypted" : "is packed with an unsupported method";
    throw new SubmissionError(
      "SUBMISSION_ARCHIVE_UNSUPPORTED",
      `${showName(name)} in ${showName(archive)} ${why}.`,
      "Create the archive again, without a password.",
    );
  }
  const path = entries.beginFile(name);
  const bytes = await unpack(zip, entry, archive, (size) => entries.countBytes(path, size));
  entries.endFile(path, isExecutable(entry), bytes);
}

export async function* entriesOf(zip: ZipFile, archive: string): AsyncGenerator<ZipEntry> {
  const each = zip.eachEntry();
  for (;;) {
    const next: IteratorResult<ZipEntry> = await each.next().catch((error: unknown) => {
      throw broken(archive, error);
    });
    if (next.done === true) return;
    yield next.value;
  }
}

/** A name is UTF-8 if the entry claims it or its bytes are valid UTF-8. Old programs wrote the DOS code page. */
export function zipEntryName(entries: ArchiveEntries, entry: ZipEntry): { name: string; old: boolean } {
  const raw = entry.fileNameRaw;
  try {
    return { name: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw), old: false };
  } catch {
    if ((entry.generalPurposeBitFlag & UTF8_FLAG) !== 0) throw entries.invalid(raw, "is not UTF-8");
    return { name: getFileNameLowLevel(entry.generalPurposeBitFlag, raw, entry.extraFields, true), old: true };
  }
}

function kindOf(entry: ZipEntry, name: string): "file" | "folder" | "a link" | "neither a file nor a folder" {
  const format = modeOf(entry) & 0o170000;
  if (format === 0o120000) return "a link";
  if (format !== 0 && format !== 0o100000 && format !== 0o040000) return "neither a file nor a folder";
  return /[/\\]$/.test(name) || format === 0o040000 ? "folder" : "file";
}

function isExecutable(entry: ZipEntry): boolean {
  return (modeOf(entry) & 0o111) !== 0;
}

function modeOf({ versionMadeBy, externalFileAttributes }: ZipEntry): number {
  const system = versionMadeBy >>> 8;
  return system === UNIX || system === MAC ? externalFileAttributes >>> 16 : 0;
}

async function unpack(zip: ZipFile, entry: ZipEntry, archive: string, count: (size: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sum = 0;
  try {
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      count(chunk.length);
      sum = crc32(chunk, sum);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SubmissionError ? error : broken(archive, error);
  }
  if (sum !== entry.crc32) throw broken(archive, "a checksum does not fit");
  return Buffer.concat(chunks);
}

export function broken(archive: string, cause: unknown): SubmissionError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SubmissionError(
    "SUBMISSION_ARCHIVE_BROKEN",
    `${showName(archive)} is not a complete zip archive (${showName(why)}).`,
    "Create it again, or submit the folder.",
    cause,
  );
}
