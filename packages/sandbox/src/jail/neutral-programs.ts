/**
 * Gives programs of the host a neutral name. The kernel shows the source path of every bind mount in /proc/self/mountinfo. So a program
 * bound from node_modules would show a guest where the product is installed.
 *
 * N1  The neutral name is a hard link, or a copy where a link is not possible, in a directory that only this user can change.
 * N2  A name keeps one content for ever: the file is created under another name and renamed.
 * N3  A machine without such a directory keeps the path of the program: it runs, and its path is visible.
 *
 * kill -9 before the rename leaves a file with a unique name. A later start removes it when it is a month old.
 */
import { createHash, randomBytes } from "node:crypto";
import { constants, readFileSync } from "node:fs";
import { chmod, copyFile, link, lstat, mkdir, readdir, realpath, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Programs } from "./launch.ts";

const MONTH_MS = 30 * 24 * 3_600_000;
/** Readable and executable for all users, because another uid runs it. */
const FOR_ALL = 0o005;

/** Not below /tmp: a jail mounts its own /tmp before it shows programs. */
export function neutralPlaces(uid: number): readonly string[] {
  const own = `/var/tmp/markmill-programs-${uid}`;
  return uid === 0 ? ["/var/cache/markmill-programs", own] : [own];
}

export async function neutralPrograms(programs: Programs, places: readonly string[]): Promise<Programs> {
  const entries = Object.entries(programs);
  // A jail shows all of /usr in any case.
  if (entries.every(([, path]) => path.startsWith("/usr/"))) return programs;
  for (const place of places) {
    if (!(await isOwnPlace(place))) continue;
    try {
      const named = await Promise.all(entries.map(async ([name, path]) => [name, await neutral(path, place)] as const));
      await sweep(place, new Set(named.map(([, path]) => path)));
      return Object.fromEntries(named);
    } catch {
      // No disk space, a read-only disk, or a missing program: the path is used unchanged, and running it shows the error.
    }
  }
  return programs;
}

async function neutral(path: string, place: string): Promise<string> {
  if (path.startsWith("/usr/")) return path;
  const source = await realpath(path);
  const { ino, dev, size, mtimeMs, mode } = await stat(source);
  const key = createHash("sha256")
    .update(JSON.stringify([source, ino, dev, size, mtimeMs]))
    .digest("hex")
    .slice(0, 16);
  const target = join(place, key);
  const made = await lstat(target).catch(() => null);
  if (made?.isFile() === true && made.size === size && (made.mode & FOR_ALL) === FOR_ALL) return target;
  const draft = `${target}.${randomBytes(6).toString("hex")}`;
  const linked =
    (mode & FOR_ALL) === FOR_ALL &&
    (await link(source, draft)
      .then(() => true)
      .catch(() => false));
  if (!linked) {
    await copyFile(source, draft, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(draft, 0o755);
  }
  await rename(draft, target);
  // Renaming a link onto another link of the same file leaves both.
  await unlink(draft).catch(() => undefined);
  return target;
}

/** A directory of this user that no other user can write to, and from which programs may be run. */
async function isOwnPlace(place: string): Promise<boolean> {
  await mkdir(place, { mode: 0o755 }).catch(() => undefined);
  const found = await lstat(place).catch(() => null);
  if (found?.isDirectory() !== true || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) return false;
  return (found.mode & FOR_ALL) === FOR_ALL && !isNoexec(place);
}

function isNoexec(place: string): boolean {
  let [longest, options] = ["", ""];
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [, , , , at = "", flags = ""] = line.split(" ");
    const covers = at === "/" || place === at || place.startsWith(`${at}/`);
    if (covers && at.length >= longest.length) [longest, options] = [at, flags];
  }
  return options.split(",").includes("noexec");
}

/** If a session still shows a removed file, the file stays usable there. */
async function sweep(place: string, used: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(place).catch(() => [])) {
    const path = join(place, name);
    const { ctimeMs = Number.POSITIVE_INFINITY } = (await lstat(path).catch(() => null)) ?? {};
    if (!used.has(path) && Date.now() - ctimeMs > MONTH_MS) await unlink(path).catch(() => undefined);
  }
}
