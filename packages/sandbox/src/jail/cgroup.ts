// Sets memory, processor and process limits by cgroup, version 1 or 2, where this process may write cgroups. Invariants:
// 1. A cgroup without all its limits is never used: if a write fails, the session is refused.
// 2. The session's record contains the paths, so any worker can read and remove the cgroups.

import { accessSync, constants, readFileSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Limits } from "../limits.ts";
import { LAUNCH_PROCESSES } from "./launch.ts";
import { cgroupRefused } from "./translate-host-error.ts";

export type CgroupHome =
  | { readonly version: 1; readonly memory: string; readonly pids: string; readonly cpu: string }
  | { readonly version: 2; readonly directory: string };

export interface SessionCgroup {
  readonly version: 1 | 2;
  /** The directories that every process of the session must enter. */
  readonly paths: readonly string[];
  /** The directory that counts out-of-memory kills. */
  readonly memoryPath: string;
}

const CPU_PERIOD_US = 100_000;
const SHM_BYTES = 16 * 1024 * 1024;

/** Returns undefined when cgroups are absent, read-only, or lack a required controller. The check creates and removes a cgroup. */
export async function findCgroupHome(): Promise<CgroupHome | undefined> {
  const home = findVersion1() ?? (await findVersion2()) ?? (await takeDelegated());
  if (home === undefined) return undefined;
  const trial = `markmill-trial-${process.pid}`;
  const directories = home.version === 1 ? [home.memory, home.pids, home.cpu] : [home.directory];
  try {
    for (const directory of directories) {
      await mkdir(join(directory, trial));
      await rmdir(join(directory, trial));
    }
    return home;
  } catch {
    return undefined;
  }
}

function findVersion1(): CgroupHome | undefined {
  const own = new Map<string, string>();
  for (const line of readOrEmpty("/proc/self/cgroup").split("\n")) {
    const [, controllers = "", path = ""] = line.split(":");
    for (const controller of controllers.split(",")) own.set(controller, path);
  }
  const places = ["memory", "pids", "cpu"].map((controller) =>
    // The path in /proc/self/cgroup exists below the mount only when the cgroup namespace's root is mounted there.
    [join("/sys/fs/cgroup", controller, own.get(controller) ?? ""), join("/sys/fs/cgroup", controller)].find((path) =>
      isWritable(join(path, "cgroup.procs")),
    ),
  );
  const [memory, pids, cpu] = places;
  if (memory === undefined || pids === undefined || cpu === undefined) return undefined;
  return { version: 1, memory, pids, cpu };
}

/** A sibling of our own cgroup, because in version 2 only leaves may hold processes. */
async function findVersion2(): Promise<CgroupHome | undefined> {
  const path = /^0::(.*)$/m.exec(readOrEmpty("/proc/self/cgroup"))?.[1];
  if (path === undefined) return undefined;
  const directory = join("/sys/fs/cgroup", dirname(path));
  const enabled = async () =>
    ["memory", "pids", "cpu"].every((name) =>
      readOrEmpty(join(directory, "cgroup.subtree_control")).split(/\s+/).includes(name),
    );
  if (!(await enabled())) {
    await writeFile(join(directory, "cgroup.subtree_control"), "+memory +pids +cpu").catch(() => {});
    if (!(await enabled())) return undefined;
  }
  return isWritable(join(directory, "cgroup.procs")) ? { version: 2, directory } : undefined;
}

const WORKER_LEAF = "markmill-worker";

/**
 * Uses a cgroup that was delegated to this user together with this process (systemd-run --user --scope -p Delegate=yes). It moves the
 * processes to a leaf, so that the cgroup may have children with limits. Root does not need this.
 */
async function takeDelegated(): Promise<CgroupHome | undefined> {
  const path = /^0::(.*)$/m.exec(readOrEmpty("/proc/self/cgroup"))?.[1];
  if (path === undefined || path === "/" || process.getuid?.() === 0) return undefined;
  const directory = join("/sys/fs/cgroup", path);
  if (!isWritable(join(directory, "cgroup.procs")) || !isWritable(join(directory, "cgroup.subtree_control")))
    return undefined;
  try {
    await mkdir(join(directory, WORKER_LEAF), { recursive: true });
    for (const pid of readOrEmpty(join(directory, "cgroup.procs")).split("\n").filter(Boolean))
      await writeFile(join(directory, WORKER_LEAF, "cgroup.procs"), pid).catch(() => {});
    await writeFile(join(directory, "cgroup.subtree_control"), "+memory +pids +cpu");
    return { version: 2, directory };
  } catch {
    return undefined;
  }
}

export function cgroupFor(home: CgroupHome, name: string): SessionCgroup {
  if (home.version === 2) {
    const path = join(home.directory, name);
    return { version: 2, paths: [path], memoryPath: path };
  }
  const memoryPath = join(home.memory, name);
  return { version: 1, paths: [memoryPath, join(home.pids, name), join(home.cpu, name)], memoryPath };
}

export async function createCgroup(cgroup: SessionCgroup, limits: Limits): Promise<void> {
  for (const path of cgroup.paths) await mkdir(path, { recursive: true });
  const [first = "", pids = "", cpu = ""] = cgroup.paths;
  const quota = String(Math.max(1000, Math.round(limits.cpus * CPU_PERIOD_US)));
  // Files in the workspace, /tmp and /dev/shm are memory too. A full disk must look like a full disk, not like an out-of-memory kill.
  const memory = String(limits.memoryBytes + 2 * limits.diskBytes + SHM_BYTES);
  const processes = String(limits.pids + LAUNCH_PROCESSES);
  const writes: [path: string, value: string, optional?: "swap"][] =
    cgroup.version === 1
      ? [
          [join(first, "memory.limit_in_bytes"), memory],
          [join(first, "memory.memsw.limit_in_bytes"), memory, "swap"],
          [join(pids, "pids.max"), processes],
          [join(cpu, "cpu.cfs_period_us"), String(CPU_PERIOD_US)],
          [join(cpu, "cpu.cfs_quota_us"), quota],
        ]
      : [
          [join(first, "memory.max"), memory],
          [join(first, "memory.swap.max"), "0", "swap"],
          [join(first, "pids.max"), processes],
          [join(first, "cpu.max"), `${quota} ${CPU_PERIOD_US}`],
        ];
  for (const [path, value, optional] of writes) {
    try {
      await writeFile(path, value);
    } catch (error) {
      // A kernel without swap accounting has no such file, and counts no swap either.
      if (optional === "swap" && (error as NodeJS.ErrnoException).code === "ENOENT") continue;
      await removeCgroup(cgroup);
      throw cgroupRefused(path, error);
    }
  }
}

/** All processes must have ended. The kernel needs a moment before the directory can be removed. */
export async function removeCgroup(cgroup: SessionCgroup): Promise<void> {
  for (const path of cgroup.paths) {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const code = await rmdir(path).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code,
      );
      if (code !== "EBUSY") break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** How often the kernel has killed a process of the session for lack of memory. */
export async function countOutOfMemory(cgroup: SessionCgroup): Promise<number> {
  const file = cgroup.version === 1 ? "memory.oom_control" : "memory.events";
  const text = await readFile(join(cgroup.memoryPath, file), "utf8").catch(() => "");
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
