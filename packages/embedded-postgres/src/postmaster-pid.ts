// Reads postmaster.pid, the server's own note. Lines: 1 pid, 2 data directory, 3 start time, 4 port, 5 socket directory, 6 listen address,
// 7 shared memory, 8 status.
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess, type ProcessIdentity } from "@markmill/base";

export type Postmaster = {
  readonly process: ProcessIdentity;
  readonly socketDirectory: string;
  readonly status: "starting" | "ready" | "stopping";
};

export function parsePostmasterPid(text: string, data: string): { pid: number } & Omit<Postmaster, "process"> {
  const lines = text.split("\n");
  const status = lines[7]?.trim();
  return {
    pid: Number(lines[0]),
    // A relative socket directory is relative to the data directory, the server's working directory.
    socketDirectory: resolve(data, lines[4] ?? "."),
    status: status === "ready" || status === "standby" ? "ready" : status === "stopping" ? "stopping" : "starting",
  };
}

/** The server that runs on this data directory now, or null. */
export async function findPostmaster(data: string): Promise<Postmaster | null> {
  const path = join(data, "postmaster.pid");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  const { pid, ...note } = parsePostmasterPid(text, data);
  const process = identifyProcess(pid);
  if (process === null) return null;
  if (await worksElsewhere(pid, data)) {
    // The machine went down, and the pid now belongs to another program. Postgres would mistake that program for its own server and refuse
    // to start. (If only the server was killed, Postgres handles the file itself: it also guards live backends.)
    await rm(path, { force: true });
    return null;
  }
  return { process, ...note };
}

/** How long a starting server may take between creating its note and writing it. */
const writingMs = 1_000;

/**
 * Removes a note without a pid (empty, or zeros). A machine that went down in the middle of a write leaves such a note, and Postgres
 * refuses to start beside it. While a process works in the directory the note stays: a server without its note ends within a minute, with
 * its backends. The caller must hold the directory's lock. After kill -9 in between, the next start finds the same note and removes it.
 */
export async function removeBrokenNotes(data: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (!(await isBroken(path))) continue;
    await sleep(writingMs);
    if ((await isBroken(path)) && !(await isWorkedIn(data))) await rm(path, { force: true });
  }
}

async function isBroken(path: string): Promise<boolean> {
  const text = await readFile(path, "latin1").catch(() => null);
  return text !== null && !/^\s*-?[1-9]/.test(text);
}

/** Whether any process has the directory as its working directory, as a server and its backends do. */
async function isWorkedIn(data: string): Promise<boolean> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) if ((await readlink(`/proc/${pid}/cwd`).catch(() => "")) === data) return true;
  return false;
}

/**
 * Whether the process works in another directory: a server's working directory is its data directory. False if the system does not report
 * it.
 */
async function worksElsewhere(pid: number, data: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) !== data;
  } catch (error) {
    // We may not read it, so the process belongs to another user: the server runs as our user, or we are root and may read it.
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}
