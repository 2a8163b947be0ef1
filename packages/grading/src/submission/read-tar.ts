// Reads a tar, plain or gzipped. It is unpacked in one pass; a gzip stream is stopped as soon as it has produced too much.
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { ArchiveEntries } from "./archive-rules.ts";
import type { ReadEntries } from "./read-folder.ts";
import { showName } from "./show-name.ts";
import { mostArchiveBytes, type SubmissionLimits } from "./submission.ts";
import { SubmissionError } from "./submission-error.ts";

export async function readTar(
  archive: string,
  bytes: Buffer,
  gzipped: boolean,
  limits: SubmissionLimits,
): Promise<ReadEntries> {
  const entries = new ArchiveEntries(archive, gzipped ? bytes.length : Number.POSITIVE_INFINITY, limits);
  const reader = extract();
  // The loop below handles errors. This listener handles errors that occur after the loop.
  reader.on("error", () => undefined);
  let found = false;
  try {
    const feeding = feed(reader, bytes, gzipped, mostArchiveBytes(limits), entries);
    feeding.catch((error: Error) => reader.destroy(error));
    for await (const entry of reader) {
      found = true;
      const { header } = entry;
      const kind = kindOf(header);
      if (kind === "folder") entries.addFolder(header.name);
      else if (kind !== "file") throw entries.link(header.name, kind);
      else {
        const path = entries.beginFile(header.name);
        const chunks: Buffer[] = [];
        for await (const chunk of entry as AsyncIterable<Buffer>) {
          entries.countBytes(path, chunk.length);
          chunks.push(chunk);
        }
        const whole = Buffer.concat(chunks);
        if (whole.length !== (header.size ?? 0)) throw new Error("an entry is cut off");
        entries.endFile(path, ((header.mode ?? 0) & 0o111) !== 0, whole);
      }
      entry.resume();
    }
    await feeding;
    if (!found && !bytes.subarray(0, 512).every((byte) => byte === 0) && !gzipped) throw new Error("it has no entry");
  } catch (error) {
    if (error instanceof SubmissionError) throw error;
    throw new SubmissionError(
      "SUBMISSION_ARCHIVE_BROKEN",
      `${showName(archive)} is not a complete tar archive (${showName(error instanceof Error ? error.message : String(error))}).`,
      "Create it again, or submit the folder.",
      error,
    );
  }
  const { files, bytes: size } = entries.tally;
  return { entries: entries.entries, files, bytes: size, notes: [] };
}

async function feed(
  reader: NodeJS.WritableStream,
  bytes: Buffer,
  gzipped: boolean,
  mostBytes: number,
  entries: ArchiveEntries,
): Promise<void> {
  const source = gzipped ? Readable.from([bytes]).pipe(createGunzip()) : Readable.from(pieces(bytes));
  let given = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    given += chunk.length;
    if (given > mostBytes) throw entries.bomb();
    if (!reader.write(chunk)) await new Promise<void>((resolve) => reader.once("drain", resolve));
  }
  reader.end();
}

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

function kindOf({ type }: Header): "file" | "folder" | "a link" | "neither a file nor a folder" {
  switch (type) {
    case "file":
    case "contiguous-file":
      return "file";
    case "directory":
      return "folder";
    case "symlink":
    case "link":
      return "a link";
    default:
      return "neither a file nor a folder";
  }
}
