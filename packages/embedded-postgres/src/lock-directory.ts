// Ensures that only one process at a time creates, starts or stops the server of a directory.
//
// L1 The lock is a file created exclusively; it names its holder by pid and start time.
// L2 A lock whose holder is gone is broken, and only under a second exclusive file. So two processes that see the same dead lock cannot
//    remove each other's new lock.
// L3 A lock file without a readable holder is being written: it counts as held for a few seconds.
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, ownIdentity, readIdentity, writeIdentity } from "@markmill/base";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

export const lockFileName = "start.lock";
const unreadableCountsAsHeldMs = 5_000;

export async function withDirectoryLock<T>(directory: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const path = join(directory, lockFileName);
  const deadline = performance.now() + waitMs;
  while (!(await take(path))) {
    if (await isAbandoned(path)) {
      await breakLock(path);
      continue;
    }
    if (performance.now() > deadline) {
      const holder = readIdentity(await readFile(path, "utf8").catch(() => ""));
      throw new EmbeddedPostgresError(
        "PG_DIRECTORY_BUSY",
        `${directory} has been locked for ${Math.round(waitMs / 1000)} s by process ${holder?.pid ?? "unknown"} (${path})`,
      );
    }
    await sleep(25);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  const own = ownIdentity();
  try {
    await writeFile(path, writeIdentity(own), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    const holder = readIdentity(await readFile(path, "utf8"));
    if (holder !== null) return !isAlive(holder);
    return Date.now() - (await stat(path)).mtimeMs > unreadableCountsAsHeldMs;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

async function breakLock(path: string): Promise<void> {
  const breaking = `${path}.break`;
  if (!(await take(breaking))) {
    if (await isAbandoned(breaking)) await rm(breaking, { force: true });
    await sleep(25);
    return;
  }
  try {
    if (await isAbandoned(path)) await rm(path, { force: true });
  } finally {
    await rm(breaking, { force: true });
  }
}
