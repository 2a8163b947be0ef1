import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const shared = "/dev/shm";
const tmpfs = 0x01021994;
const gibibyte = 2 ** 30;
/** For the servers of all lanes: each may keep half a gibibyte of its log, and a few dozen databases. */
const wantedBytes = 8 * gibibyte;

/**
 * Where test files make directories for Postgres: in memory where there is plenty, else among other temporary files. A server on a disk
 * spends more processor time in the file system than on queries: a database is hundreds of files, and each commit is synced. What a
 * server has written outlives its kill -9 here as there.
 */
export function databaseDirectory(): string {
  try {
    const { type, bavail, bsize } = statfsSync(shared);
    // What stands in it takes from the machine's memory, which others need too.
    const roomy = bavail * bsize >= wantedBytes && process.availableMemory() >= wantedBytes + 4 * gibibyte;
    return type === tmpfs && roomy ? shared : tmpdir();
  } catch {
    return tmpdir();
  }
}
