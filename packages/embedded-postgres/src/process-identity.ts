// A pid alone is reused; pid and start time together are not. Where /proc is missing the pid must do.
import { readFileSync } from "node:fs";

export type ProcessIdentity = {
  readonly pid: number;
  /** Clock ticks since boot, as /proc writes them; null where the system does not tell. */
  readonly startedAt: string | null;
};

/** null when no such process runs. A zombie does not run. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return fields[0] === "Z" || fields[0] === "X" ? null : { pid, startedAt: fields[19] ?? null };
    } catch {
      return null;
    }
  }
  try {
    process.kill(pid, 0);
    return { pid, startedAt: null };
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM" ? { pid, startedAt: null } : null;
  }
}

export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  const now = identifyProcess(pid);
  return now !== null && (startedAt === null || now.startedAt === null || now.startedAt === startedAt);
}

export function writeIdentity(identity: ProcessIdentity): string {
  return JSON.stringify(identity);
}

/** null for text that is not a whole identity, such as a file its writer has created and not yet filled. */
export function readIdentity(text: string): ProcessIdentity | null {
  try {
    const { pid, startedAt } = JSON.parse(text);
    if (typeof pid !== "number") return null;
    return { pid, startedAt: typeof startedAt === "string" ? startedAt : null };
  } catch {
    return null;
  }
}
