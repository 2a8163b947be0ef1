// Identifies a process: a pid is reused, a pid with its start time is not. Without /proc, only the pid is compared.

import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, from /proc/<pid>/stat; the same value in every pid namespace. Empty if the system does not report it. */
  readonly startTime: string;
}

const PF_EXITING = 0x4;

export interface ProcessStat extends ProcessIdentity {
  /** Its number in the reader's own namespace; 0 if it is outside. */
  readonly parent: number;
  readonly state: string;
  /** The process is exiting: pid 1 of a namespace stays in this state until the last process in it is gone. */
  readonly exiting: boolean;
  /** Clock ticks of processor time, including children that were waited for. */
  readonly cpuTicks: number;
}

/** Undefined if there is no such process, or its /proc cannot be read. */
export function readProcessStat(pid: number, proc = "/proc"): ProcessStat | undefined {
  try {
    return parseStat(pid, readFileSync(`${proc}/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}

/** The command name, in parentheses, may contain any character: fields are counted from the last parenthesis. */
export function parseStat(pid: number, text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined) return undefined;
  const cpuTicks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
  return {
    pid,
    startTime,
    state,
    parent: Number(fields[1]),
    exiting: (Number(fields[6]) & PF_EXITING) !== 0,
    cpuTicks,
  };
}

/** null if no such process runs. A zombie does not count as running. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  if (process.platform === "linux") {
    const stat = readProcessStat(pid);
    return stat === undefined || stat.state === "Z" || stat.state === "X" ? null : { pid, startTime: stat.startTime };
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return null;
  }
  return { pid, startTime: "" };
}

/** Whether exactly that process still runs. */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const now = identifyProcess(pid);
  return now !== null && (startTime === "" || now.startTime === "" || now.startTime === startTime);
}

export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: "" };
}

/** For a file that other processes read, including a shell script. */
export function writeIdentity({ pid, startTime }: ProcessIdentity): string {
  return JSON.stringify({ pid, startedAt: startTime === "" ? null : startTime });
}

/** null for text that is not a whole identity, such as a file that its writer has created and not yet filled. */
export function readIdentity(text: string): ProcessIdentity | null {
  try {
    const { pid, startedAt } = JSON.parse(text);
    if (!Number.isInteger(pid)) return null;
    return { pid, startTime: typeof startedAt === "string" ? startedAt : "" };
  } catch {
    return null;
  }
}
