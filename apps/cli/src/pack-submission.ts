/**
 * A folder as an uncompressed tar, the same bytes for the same content: names sorted, no times, no owners.
 *
 * K1  Nothing from outside the folder enters: links are kept as links, and one that leads out of the folder is refused.
 * K2  Only files, folders and such links; count and size are capped.
 */
import type { Stats } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { type Pack, pack } from "tar-stream";
import { formatBytes, formatCount } from "./amounts.ts";
import { CommandError } from "./command.ts";

export interface PackedSubmission {
  readonly tar: Buffer;
  readonly files: number;
  readonly bytes: number;
}

export interface PackLimits {
  readonly files: number;
  readonly bytes: number;
}

const defaultLimits: PackLimits = { files: 10_000, bytes: 64 * 1024 * 1024 };
const epoch = new Date(0);

export async function packSubmission(folder: string, limits = defaultLimits): Promise<PackedSubmission> {
  const root = resolve(folder);
  const stat = await lstat(root).catch(() => null);
  if (stat === null) throw refused(`There is no folder ${folder}.`, "Check the path after --submission.");
  const isFolder = stat.isDirectory() || (stat.isSymbolicLink() && (await readdir(root).catch(() => null)) !== null);
  if (!isFolder) throw refused(`${folder} is not a folder.`, "Name the folder that holds the submission's files.");

  const tar = pack();
  const chunks: Buffer[] = [];
  const packed = (async () => {
    for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
  })();
  const total = { files: 0, bytes: 0 };
  const sizes = new Map<string, number>();
  const count = (path: string, size: number) => {
    const top = path.split("/", 1)[0] ?? "";
    sizes.set(top, (sizes.get(top) ?? 0) + size);
    total.files += 1;
    total.bytes += size;
    if (total.files <= limits.files && total.bytes <= limits.bytes) return;
    const [largest] = [...sizes].sort(([, one], [, other]) => other - one)[0] ?? ["", 0];
    throw refused(
      total.files > limits.files
        ? `${folder} holds more than ${formatCount(limits.files)} files.`
        : `${folder} holds more than ${formatBytes(limits.bytes)}.`,
      `Leave out what is not part of the submission; most of it is in ${largest}.`,
    );
  };

  async function add(path: string): Promise<void> {
    const full = join(root, path);
    const entry = await lstat(full);
    if (entry.isDirectory()) {
      if (path !== "") write(tar, path, { type: "directory", mode: 0o755 });
      for (const name of (await readdir(full)).sort()) await add(path === "" ? name : `${path}/${name}`);
    } else if (entry.isSymbolicLink()) {
      count(path, 0);
      write(tar, path, { type: "symlink", mode: 0o777, linkname: await linkInside(root, path) });
    } else if (entry.isFile()) {
      count(path, entry.size);
      write(tar, path, { type: "file", mode: modeOf(entry) }, await readFile(full));
    } else {
      throw refused(`${path} is neither a file nor a folder nor a link.`, "Remove it from the submission.");
    }
  }

  try {
    await add("");
  } catch (error) {
    tar.destroy();
    await packed.catch(() => undefined);
    throw error;
  }
  tar.finalize();
  await packed;
  return { tar: Buffer.concat(chunks), ...total };
}

function write(
  tar: Pack,
  name: string,
  header: { readonly type: "file" | "directory" | "symlink"; readonly mode: number; readonly linkname?: string },
  bytes?: Buffer,
): void {
  const complete = { ...header, name, mtime: epoch, uid: 0, gid: 0 };
  if (bytes === undefined) tar.entry(complete);
  else tar.entry({ ...complete, size: bytes.length }, bytes);
}

function modeOf({ mode }: Stats): number {
  return (mode & 0o111) === 0 ? 0o644 : 0o755;
}

/** K1. Where a link leads is judged by its text: what stands there may change until it is followed, inside the sandbox. */
async function linkInside(root: string, path: string): Promise<string> {
  const target = await readlink(join(root, path));
  const leadsTo = relative(root, resolve(root, dirname(path), target));
  if (isAbsolute(target) || leadsTo === ".." || leadsTo.startsWith(`..${sep}`)) {
    throw refused(
      `${path} is a link to ${target}, outside the submission.`,
      "Replace the link by the file itself, or remove it.",
    );
  }
  return target.split(sep).join(posix.sep);
}

function refused(message: string, fix: string): CommandError {
  return new CommandError("SUBMISSION_REFUSED", message, fix);
}
