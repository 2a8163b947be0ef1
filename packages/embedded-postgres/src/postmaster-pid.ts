// The server's own note about itself. Lines: 1 pid, 2 data directory, 3 start time, 4 port, 5 socket directory, 6 listen
// address, 7 shared memory, 8 status.
import { readFile, readlink, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { identifyProcess, type ProcessIdentity } from "@markmill/process-identity";

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
    // The machine went down and the pid now belongs to another program. Postgres would take that program for its own server
    // and refuse to start. (The file of a server that merely died is left to Postgres: it also guards live backends.)
    await rm(path, { force: true });
    return null;
  }
  return { process, ...note };
}

/** A server's working directory is its data directory. False where the system does not tell. */
async function worksElsewhere(pid: number, data: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) !== data;
  } catch (error) {
    // Not ours to look at, so a process of another user: the server runs as us, or we are root and may look.
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}
