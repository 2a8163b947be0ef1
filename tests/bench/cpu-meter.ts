/**
 * Processor time from /proc, in microseconds (the kernel counts in ticks of 10 ms, so a load should last a second at least).
 * A server's time is that of its main process, of the children it has, and of those it has already buried.
 */
import { readdirSync, readFileSync } from "node:fs";

export interface Watched {
  /** Processes by part. */
  readonly processes: Readonly<Record<string, number>>;
  /** Servers by part; null: it is not on this machine. */
  readonly servers: Readonly<Record<string, number | null>>;
}

export interface CpuReading {
  readonly parts: Readonly<Record<string, number>>;
  /** Of all processors: the time they worked, and all the time there was. */
  readonly busy: number;
  readonly all: number;
}

export interface CpuSpent {
  /** Microseconds by part. */
  readonly parts: Readonly<Record<string, number>>;
  readonly total: number;
  /** Share of the machine that went to processes that were not measured. */
  readonly others: number;
}

const tick = 10_000;

/** null: this machine has no /proc, or a server is elsewhere. */
export function readCpu({ processes, servers }: Watched): CpuReading | null {
  if (process.platform !== "linux") return null;
  const parts: Record<string, number> = {};
  for (const [part, pid] of Object.entries(processes)) parts[part] = ownTime(pid);
  for (const [part, pid] of Object.entries(servers)) {
    if (pid === null) return null;
    parts[part] = serverTime(pid);
  }
  return { parts, ...machineTime() };
}

export function cpuBetween(before: CpuReading | null, after: CpuReading | null): CpuSpent | null {
  if (before === null || after === null) return null;
  const parts = Object.fromEntries(
    Object.entries(after.parts).map(([part, time]) => [part, time - (before.parts[part] ?? 0)]),
  );
  const total = Object.values(parts).reduce((sum, time) => sum + time, 0);
  const others = (after.busy - before.busy - total) / Math.max(1, after.all - before.all);
  return { parts, total, others: Math.max(0, others) };
}

/** The main process of the server that `pid` belongs to, if both are here and are called `name`. */
export function serverOf(pid: number, name: string): number | null {
  try {
    if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith(name)) return null;
    const { parent } = readStat(pid);
    return parent > 1 && readFileSync(`/proc/${parent}/comm`, "utf8").startsWith(name) ? parent : pid;
  } catch {
    return null;
  }
}

function ownTime(pid: number): number {
  const { user, system } = readStat(pid);
  return (user + system) * tick;
}

function serverTime(pid: number): number {
  const main = readStat(pid);
  let ticks = main.user + main.system + main.buried;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const { parent, user, system } = readStat(Number(entry));
      if (parent === pid) ticks += user + system;
    } catch {
      // It ended in between, and is counted among the buried next time.
    }
  }
  return ticks * tick;
}

function readStat(pid: number) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in brackets may hold anything; the fields after it are counted from the third.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parent: field(4), user: field(14), system: field(15), buried: field(16) + field(17) };
}

function machineTime(): { readonly busy: number; readonly all: number } {
  const line = readFileSync("/proc/stat", "utf8").split("\n", 1)[0] ?? "";
  // user nice system idle iowait irq softirq steal; guests are counted in user already.
  const times = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const all = times.reduce((sum, time) => sum + time, 0);
  return { busy: (all - (times[3] ?? 0) - (times[4] ?? 0)) * tick, all: all * tick };
}
