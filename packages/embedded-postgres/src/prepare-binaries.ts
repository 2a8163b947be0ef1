// Prepares one candidate so that the server's user can run it, or returns why this is not possible.
//
// B1 "Runnable" is proven by running `postgres --version` and `initdb --version` as that user.
// B2 The links that an install script would have created are created here, for installs with scripts switched off.
// B3 Programs that the user cannot reach (a checkout below a private home, a read-only install without its links) are copied, about 60 MB,
//    to a place that the user can reach. A copy appears complete, by a rename, under a name that contains its content's version.
import { constants } from "node:fs";
import { access, chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, rmdir, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import type { ServerUser } from "./choose-server-user.ts";
import type { BinaryCandidate } from "./find-binaries.ts";
import { runProgram } from "./run-program.ts";

export type Binaries = { readonly initdb: string; readonly postgres: string; readonly major: number };

export type Preparation =
  | { readonly ok: true; readonly binaries: Binaries }
  | { readonly ok: false; readonly reason: string };

export async function prepareBinaries(
  candidate: BinaryCandidate,
  user: ServerUser,
  directory: string,
): Promise<Preparation> {
  if (candidate.kind === "system") return probe(candidate.bin, user);
  await linkLibraries(candidate.native);
  const inPlace = await probe(join(candidate.native, "bin"), user);
  if (inPlace.ok) return inPlace;
  const reasons = [inPlace.reason];
  for (const parent of copyPlaces(user, directory)) {
    try {
      const copy = await copyBinaries(candidate.native, parent);
      const copied = await probe(join(copy, "bin"), user);
      if (copied.ok) return copied;
      reasons.push(copied.reason);
      await rm(copy, { recursive: true, force: true });
      // Removes the parent folder only if it is empty.
      await rmdir(parent).catch(() => undefined);
    } catch (error) {
      reasons.push(`copy to ${parent}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { ok: false, reason: reasons.join("\n") };
}

async function probe(bin: string, user: ServerUser): Promise<Preparation> {
  const binaries = { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
  let major = 0;
  for (const program of Object.values(binaries)) {
    const { ok, output } = await runProgram(program, ["--version"], { user, timeoutMs: 20_000 });
    if (!ok) return { ok: false, reason: `${program}: ${output.trim()}` };
    major = Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1] ?? 0);
    if (major < 14) return { ok: false, reason: `${program}: ${output.trim()} is older than 14` };
  }
  return { ok: true, binaries: { ...binaries, major } };
}

/**
 * Errors are ignored here and found by the probe: an existing link is fine, and a link that cannot be created here is created in a copy.
 */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: { source: string; target: string }[] = JSON.parse(list);
  const packageRoot = dirname(native);
  const withinPackage = ({ source, target }: { source: string; target: string }) => {
    const renamed = (path: string) => join(packageRoot, path.replace(/^native/, basename(native)));
    return { source: renamed(source), target: renamed(target) };
  };
  for (const { source, target } of links.map(withinPackage)) {
    await symlink(relative(dirname(target), source), target).catch(() => undefined);
  }
}

/** A lent user cannot enter the caller's private directories. The caller's own copy stays beside its data. */
function copyPlaces(user: ServerUser, directory: string): string[] {
  return user.kind === "self" ? [directory] : ["/var/cache/markmill", join(tmpdir(), "markmill-cache")];
}

async function copyBinaries(native: string, parent: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, "..", "package.json"), "utf8"));
  if ((await mkdir(parent, { recursive: true })) !== undefined) await chmod(parent, 0o755);
  await refuseForeign(parent);
  const copy = join(parent, `postgres-${version}-${process.arch}`);
  if (await exists(copy)) {
    await refuseForeign(copy);
    return copy;
  }
  const unfinished = `${copy}.${process.pid}`;
  try {
    await cp(native, unfinished, {
      recursive: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
      filter: (path) => !path.endsWith(".a"),
    });
    await linkLibraries(unfinished);
    await openToReaders(unfinished);
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another process was faster: its copy is as good.
    if (!(await exists(copy))) throw error;
  }
  return copy;
}

/** The install may have been created under a strict umask. */
async function openToReaders(copy: string): Promise<void> {
  await chmod(copy, 0o755);
  for (const entry of await readdir(copy, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** In a shared folder, another user could have prepared programs for us to run. */
async function refuseForeign(path: string): Promise<void> {
  const entry = await lstat(path);
  if (!entry.isDirectory() || entry.uid !== process.getuid?.() || (entry.mode & 0o022) !== 0) {
    throw new Error(`${path} is not a directory that only this user can write`);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
