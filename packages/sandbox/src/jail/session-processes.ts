// The processes of one jail, seen from the host. Invariants:
// 1. Only a process in the jail's pid namespace is ever signalled, and only while the holder lives: the kernel gives the number of an ended
//    namespace to the next one.
// 2. `killAllBut` returns when the processes are gone, or reports that they are not.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type ProcessIdentity, type ProcessStat, readProcessStat } from "@markmill/base";
import type { Holder } from "./session-directory.ts";

const ROUNDS = 100;

/**
 * True while the jail can be used. Another process may have the same pid, and after a reboot even the same start time, but not the same
 * namespace too.
 */
export function isHolding(holder: Holder): boolean {
  const stat = readProcessStat(holder.pid);
  if (stat === undefined || stat.startTime !== holder.startTime || stat.exiting || stat.state === "Z") return false;
  try {
    return readlinkSync(`/proc/${holder.pid}/ns/pid`) === holder.pidNamespace;
  } catch {
    return false;
  }
}

/** The pids are those of the jail's own namespace. This is cheap: the jail's /proc lists no other processes. */
export function listInside(holder: ProcessIdentity): ProcessStat[] {
  const proc = `/proc/${holder.pid}/root/proc`;
  return numericNames(proc)
    .map((pid) => readProcessStat(pid, proc))
    .filter((stat) => stat !== undefined);
}

/**
 * Kills every process of the jail except pid 1 and those in `keep` (by pid inside the jail and start time). It stops all of them before it
 * kills the first: a process that forks faster than the scan reaches the limit of processes instead of escaping.
 * `theirs`: also spares the descendants of the processes in `keep`.
 */
export async function killAllBut(
  holder: Holder,
  keep: readonly ProcessIdentity[],
  { theirs = false } = {},
): Promise<boolean> {
  const kept = new Set(keep.map(keyOf));
  const stopped = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    if (!isHolding(holder)) return true;
    const all = listFromHost(holder.pidNamespace);
    const isKept = (found: Found) => kept.has(keyOf({ pid: found.inside, startTime: found.startTime }));
    const spared = theirs ? withDescendants(all, isKept) : new Set(all.filter(isKept));
    const victims = all.filter((found) => found.inside !== 1 && !spared.has(found));
    if (victims.length === 0) {
      await endLaunchers(holder);
      return await reaped(
        holder,
        new Set([...spared].map(({ inside, startTime }) => keyOf({ pid: inside, startTime }))),
      );
    }
    const fresh = victims.filter((victim) => !stopped.has(keyOf(victim)));
    for (const victim of fresh) {
      signal(victim.pid, "SIGSTOP");
      stopped.add(keyOf(victim));
    }
    if (fresh.length === 0 || round >= ROUNDS / 2) for (const { pid } of victims) signal(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, round < 10 ? 2 : 25));
  }
  return false;
}

/**
 * A launcher waits outside the jail for its child, and stops itself when the child is stopped. The child then stays a zombie, and the whole
 * namespace stays too. SIGCONT lets the launcher wait for its child and end; a launcher that does not end is killed.
 */
export async function endLaunchers(holder: Holder): Promise<void> {
  for (const pid of launchersOf(holder)) signal(pid, "SIGCONT");
  for (let look = 0; look < 20 && launchersOf(holder).length > 0; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 5));
  for (const pid of launchersOf(holder)) signal(pid, "SIGKILL");
}

function launchersOf(holder: Holder): number[] {
  return numericNames("/proc").filter((pid) => {
    try {
      const [program = "", option, target] = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      return program.endsWith("/nsenter") && option === "--target" && target === String(holder.pid);
    } catch {
      return false;
    }
  });
}

/** Pid 1 waits for ended processes ten times a second. Until then a zombie counts against the limit of processes. */
async function reaped(holder: Holder, kept: ReadonlySet<string>): Promise<true> {
  for (let look = 0; look < 100; look += 1) {
    if (listInside(holder).every((stat) => stat.pid === 1 || kept.has(keyOf(stat)))) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

interface Found extends ProcessIdentity {
  /** Its pid in the jail. */
  readonly inside: number;
  readonly parent: number;
}

function withDescendants(all: readonly Found[], isRoot: (found: Found) => boolean): ReadonlySet<Found> {
  const byPid = new Map(all.map((found) => [found.pid, found]));
  return new Set(
    all.filter((found) => {
      let at: Found | undefined = found;
      for (let depth = 0; at !== undefined && at.inside !== 1 && depth < all.length; depth += 1) {
        if (isRoot(at)) return true;
        at = byPid.get(at.parent);
      }
      return false;
    }),
  );
}

/** Leaves out zombies: they run no code and hold no resources. Pid 1 waits for them. */
function listFromHost(namespace: string): Found[] {
  const found: Found[] = [];
  for (const pid of numericNames("/proc")) {
    try {
      if (readlinkSync(`/proc/${pid}/ns/pid`) !== namespace) continue;
      const stat = readProcessStat(pid);
      const inside = /^NSpid:.*\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
      if (stat === undefined || inside === undefined || stat.state === "Z" || stat.state === "X") continue;
      found.push({ pid, startTime: stat.startTime, inside: Number(inside), parent: stat.parent });
    } catch {
      // The process ended between the listing and the reading, or belongs to another user.
    }
  }
  return found;
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process is gone already.
  }
}

function numericNames(directory: string): number[] {
  try {
    return readdirSync(directory)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

const keyOf = (identity: ProcessIdentity) => `${identity.pid}@${identity.startTime}`;
