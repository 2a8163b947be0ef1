// Which process a pid means: a pid is reused, a pid with its start time is not.

import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as /proc/<pid>/stat has it; the same seen from any pid namespace. */
  readonly startTime: string;
}

const PF_EXITING = 0x4;

export interface ProcessStat extends ProcessIdentity {
  /** As the reader's own namespace numbers it; 0 when it is outside. */
  readonly parent: number;
  readonly state: string;
  /** On its way out: pid 1 of a namespace stays so until the last process in it is gone. */
  readonly exiting: boolean;
  /** Clock ticks of processor time, waited-for children included. */
  readonly cpuTicks: number;
}

/** Undefined when there is no such process, or its /proc cannot be read. */
export function readProcessStat(pid: number, proc = "/proc"): ProcessStat | undefined {
  try {
    return parseStat(pid, readFileSync(`${proc}/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}

/** The command name, in parentheses, may hold anything: fields are counted from the last parenthesis. */
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

export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readProcessStat(identity.pid);
  return stat !== undefined && stat.startTime === identity.startTime && stat.state !== "Z" && stat.state !== "X";
}

export function ownIdentity(): ProcessIdentity {
  const stat = readProcessStat(process.pid);
  return { pid: process.pid, startTime: stat?.startTime ?? "" };
}
