// Measures the processor time of a jail. A cgroup counts it exactly. Without a cgroup, the meter adds the times of all processes, including
// ended children that their parent has waited for. But the kernel drops the time of a child whose parent ignores SIGCHLD. If a process of
// the session does this, the meter estimates: a running process that started after the last measurement is charged one full core since that
// measurement.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessStat } from "@markmill/base";
import type { SessionCgroup } from "./cgroup.ts";
import type { Holder } from "./session-directory.ts";
import { listInside } from "./session-processes.ts";

/** USER_HZ: the kernel's interface value on every architecture we support. */
const TICKS_PER_SECOND = 100;
const SIGCHLD_BIT = 1n << 16n;

export type CpuMeter = () => number | undefined;

export function createCpuMeter(holder: Holder, cgroup: SessionCgroup | undefined, cores: number): CpuMeter {
  if (cgroup !== undefined && readCgroupMs(cgroup) !== undefined) return () => readCgroupMs(cgroup);
  let forgottenMs = 0;
  let lookedAt = performance.now();
  let seen = new Set<string>();
  return () => {
    const stats = listInside(holder);
    if (stats.length === 0) return undefined;
    const now = performance.now();
    const young = stats.filter((stat) => stat.state === "R" && !seen.has(keyOf(stat)));
    if (seen.size > 0 && young.length > 0 && stats.some((stat) => ignoresChildren(holder, stat)))
      forgottenMs += (now - lookedAt) * Math.min(cores, young.length);
    lookedAt = now;
    seen = new Set(stats.map(keyOf));
    return (stats.reduce((sum, stat) => sum + stat.cpuTicks, 0) * 1000) / TICKS_PER_SECOND + forgottenMs;
  };
}

function readCgroupMs(cgroup: SessionCgroup): number | undefined {
  for (const path of cgroup.paths) {
    const usec = /^usage_usec (\d+)$/m.exec(readOrEmpty(join(path, "cpu.stat")))?.[1];
    if (usec !== undefined) return Number(usec) / 1000;
    const nanoseconds = readOrEmpty(join(path, "cpuacct.usage")).trim();
    if (/^\d+$/.test(nanoseconds)) return Number(nanoseconds) / 1e6;
  }
  return undefined;
}

function ignoresChildren(holder: Holder, { pid }: ProcessStat): boolean {
  // Pid 1 is our own process.
  if (pid === 1) return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readOrEmpty(`/proc/${holder.pid}/root/proc/${pid}/status`))?.[1];
  return mask !== undefined && (BigInt(`0x${mask}`) & SIGCHLD_BIT) !== 0n;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

const keyOf = (stat: ProcessStat) => `${stat.pid}@${stat.startTime}`;
