/** Processes of ours that outlive the command that started them. Their words go to a file. */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/markmill.mjs", import.meta.url));

export function spawnBackground(
  args: readonly string[],
  place: { readonly cwd: string; readonly log: string },
): number {
  mkdirSync(dirname(place.log), { recursive: true });
  const log = openSync(place.log, "a", 0o600);
  try {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: place.cwd,
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.unref();
    return child.pid ?? 0;
  } finally {
    closeSync(log);
  }
}

export interface ProcessIdentity {
  readonly pid: number;
  /** Tells a process from a later one with the same pid; null where the system does not say. */
  readonly startedAt: string | null;
}

export function identify(pid: number): ProcessIdentity | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return null;
  }
  try {
    // After the program's name, which may hold anything: field 3 is the state, field 22 the start.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return fields[0] === "Z" ? null : { pid, startedAt: fields[19] ?? null };
  } catch {
    return { pid, startedAt: null };
  }
}

export function isSame(one: ProcessIdentity): boolean {
  const now = identify(one.pid);
  return now !== null && now.startedAt === one.startedAt;
}
