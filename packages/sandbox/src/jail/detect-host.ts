// Detects the features of this machine that a jail uses: its tools, and whether cgroups can be written. Read once at start; nothing here
// changes during a worker's life.

import { readFileSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import os from "node:os";
import { join } from "node:path";
import { type CgroupHome, findCgroupHome } from "./cgroup.ts";
import type { SeccompArchitecture } from "./seccomp-filter.ts";
import { architectureUnsupported, notLinux, pidsLimitUnsupported, toolMissing } from "./translate-host-error.ts";

export interface JailHost {
  readonly isRoot: boolean;
  readonly architecture: SeccompArchitecture;
  readonly tools: Readonly<Record<ToolName, string>>;
  readonly cgroups: CgroupHome | undefined;
  /** The numbers of the cores that this process may use. */
  readonly cores: readonly number[];
  /** This process's own hard limits. It can set no limit above them. */
  readonly hardLimits: { readonly processes: number; readonly coreBytes: number };
}

const toolNames = ["bash", "unshare", "nsenter", "perl", "mount", "tar"] as const;
type ToolName = (typeof toolNames)[number];

/** The jail shows /usr, /bin and /sbin. A tool in another directory would not be found inside. */
const directories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];

export interface HostPreferences {
  /** Set to false to use rlimits and the watch of pid 1 instead of cgroups. */
  readonly useCgroups?: boolean;
}

export async function detectHost(preferences: HostPreferences = {}): Promise<JailHost> {
  if (process.platform !== "linux") throw notLinux(process.platform);
  const { arch } = process;
  if (arch !== "x64" && arch !== "arm64") throw architectureUnsupported(arch);
  const found = await Promise.all(toolNames.map(async (name) => [name, await findTool(name)] as const));
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) throw toolMissing(missing);
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !countsProcessesPerNamespace(os.release())) throw pidsLimitUnsupported(os.release());
  return {
    isRoot,
    architecture: arch,
    tools: Object.fromEntries(found) as Record<ToolName, string>,
    cgroups: preferences.useCgroups === false ? undefined : await findCgroupHome(),
    hardLimits: parseHardLimits(readFileSync("/proc/self/limits", "latin1")),
    cores: parseCores(readFileSync("/proc/self/status", "latin1")),
  };
}

/** Since Linux 5.14, RLIMIT_NPROC is counted in each user namespace. */
export function countsProcessesPerNamespace(release: string): boolean {
  const [major = 0, minor = 0] = release.split(".").map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14);
}

/** Parses a line like `Cpus_allowed_list:	0-2,5`. */
export function parseCores(status: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "0";
  return list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Parses the table of /proc/self/limits: name, soft, hard, unit. */
export function parseHardLimits(table: string): JailHost["hardLimits"] {
  const hard = (name: string) => {
    const value = new RegExp(`^${name}\\s+\\S+\\s+(\\S+)`, "m").exec(table)?.[1];
    return value === undefined || value === "unlimited" ? Number.POSITIVE_INFINITY : Number(value);
  };
  return { processes: hard("Max processes"), coreBytes: hard("Max core file size") };
}

async function findTool(name: string): Promise<string | undefined> {
  for (const directory of directories) {
    const path = join(directory, name);
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return undefined;
}
