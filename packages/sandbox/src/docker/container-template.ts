// Builds the create request for a session's container: one fixed, hardened shape. Only limits, labels and the image vary.
// Invariants:
// 1. This file sets every field that confines the container; no other file does. A workflow's text reaches a field only through limits,
//    checked ids and the allow-listed image.
// 2. The container's own process and the commands have different uids: a command cannot signal the process that keeps its container alive.
// 3. Read-only folders belong to the keeper's uid: commands can read them but not change them.
// 4. Nothing is on the host. The workspace and /tmp are tmpfs with a size limit, so the session's files disappear with its container.
// 5. Memory that outlives the processes of a command (files, inodes, System V segments and messages) is bounded below the container's
//    memory. A command that fills all of it gets "no space left", and the next command still has memory to start.

import { randomInt } from "node:crypto";
import type Docker from "dockerode";
import type { Limits } from "../limits.ts";
import { type ReadOnlyPlace, type ScratchPlace, type SessionLabels, WORKSPACE } from "../port.ts";
import type { EngineFacts } from "./engine-host.ts";
import { keeper } from "./keeper-script.ts";
import { KEEPER_SCORE } from "./memory-scores.ts";
import { seccompProfile } from "./seccomp-profile.ts";

/** Uids of the sandbox image's /etc/passwd. They are below 65536, so that a remapped or rootless engine has them. */
const FIRST_UID = 50_000;
const UIDS = 1_000;
export const KEEPER_UID = 49_999;

/** Room for the engine to start an exec when the session's own processes are at their limit (runc itself has ~10 threads). */
const EXEC_PROCESSES = 32;
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;
/** The share of the memory that the inodes of one writable folder may use, and the kernel memory for one inode including its name. */
const INODE_SHARE = 1 / 6;
const INODE_BYTES = 1280;
const MAX_INODES = 100_000;
const MIN_INODES = 2_000;
const SHARED_MEMORY_INODES = 1024;
const OPEN_FILES = 1024;
const STACK_BYTES = 64 * 1024 * 1024;
/** System V limits: pages of all segments together, number of queues, number of semaphores. The kernel's own defaults are gigabytes. */
const SYSTEM_V = { "kernel.shmall": "4096", "kernel.msgmni": "64", "kernel.sem": "250 3200 32 64" };

const seccompText = JSON.stringify(seccompProfile);

export interface ContainerWish {
  readonly name: string;
  readonly image: string;
  readonly limits: Limits;
  readonly uid: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The container ends itself after this time, even if all workers have crashed. */
  readonly lifetimeSeconds: number;
  readonly runtime?: string | undefined;
  readonly apparmorProfile?: string | undefined;
  readonly readOnly?: readonly ReadOnlyPlace[];
  readonly scratch?: ScratchPlace | undefined;
}

// @types/dockerode lacks these two fields of the API.
type HostConfig = Docker.HostConfig & { readonly CgroupnsMode: "private" };
export type ContainerTemplate = Docker.ContainerCreateOptions & { readonly HostConfig: HostConfig };

export function containerTemplate(
  wish: ContainerWish,
  facts: Pick<EngineFacts, "cgroupVersion" | "cpus" | "remapped">,
): ContainerTemplate {
  const { limits, uid } = wish;
  const scratch = `rw,exec,nosuid,nodev,size=${limits.diskBytes},nr_inodes=${inodesOf(limits)}`;
  const sharedMemory = Math.min(SHARED_MEMORY_BYTES, limits.diskBytes);
  const memory = limits.memoryBytes + (wish.scratch === undefined ? 2 : 3) * limits.diskBytes + sharedMemory;
  return {
    name: wish.name,
    Image: wish.image,
    Hostname: "sandbox",
    User: `${KEEPER_UID}:${KEEPER_UID}`,
    WorkingDir: "/",
    Env: ["LANG=C.UTF-8", ...keeper.environment],
    Entrypoint: keeper.command,
    Cmd: [String(wish.lifetimeSeconds)],
    Labels: { ...wish.labels },
    OpenStdin: false,
    Tty: false,
    AttachStdin: false,
    AttachStdout: false,
    AttachStderr: false,
    HostConfig: {
      AutoRemove: true,
      ReadonlyRootfs: true,
      Tmpfs: {
        [WORKSPACE]: `${scratch},mode=0700,uid=${uid},gid=${uid}`,
        "/tmp": `${scratch},mode=1777`,
        // The engine's default /dev/shm has no limit on inodes.
        "/dev/shm": `rw,noexec,nosuid,nodev,size=${sharedMemory},nr_inodes=${SHARED_MEMORY_INODES},mode=1777`,
        ...(wish.scratch === undefined ? {} : { [wish.scratch]: `${scratch},mode=0700,uid=${uid},gid=${uid}` }),
        ...Object.fromEntries(
          (wish.readOnly ?? []).map((place) => [place, `${scratch},mode=0755,uid=${KEEPER_UID},gid=${KEEPER_UID}`]),
        ),
      },
      NetworkMode: "none",
      CapDrop: ["ALL"],
      Privileged: false,
      SecurityOpt: [
        "no-new-privileges:true",
        `seccomp=${seccompText}`,
        ...(wish.apparmorProfile === undefined ? [] : [`apparmor=${wish.apparmorProfile}`]),
      ],
      // The kernel counts files in a tmpfs as memory. A full disk must look like a full disk, not like an out-of-memory kill. The jail
      // counts the same way.
      Memory: memory,
      MemorySwap: memory,
      // cgroup v2 has no swappiness; equal memory and swap limits already leave no swap.
      ...(facts.cgroupVersion === "1" ? { MemorySwappiness: 0 } : {}),
      OomKillDisable: false,
      OomScoreAdj: KEEPER_SCORE,
      // The engine refuses more cores than it has; fewer cores are a tighter limit.
      NanoCpus: Math.max(1e7, Math.round(Math.min(limits.cpus, facts.cpus) * 1e9)),
      PidsLimit: limits.pids + EXEC_PROCESSES,
      Ulimits: [
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: largestFile(limits), Hard: largestFile(limits) },
        { Name: "stack", Soft: 8 * 1024 * 1024, Hard: STACK_BYTES },
      ],
      // On older kernels, an engine in a user namespace may not set sysctls and would start no container.
      ...(facts.remapped ? {} : { Sysctls: SYSTEM_V }),
      IpcMode: "private",
      CgroupnsMode: "private",
      Init: true,
      RestartPolicy: { Name: "no" },
      LogConfig: { Type: "none", Config: {} },
      ...(wish.runtime === undefined ? {} : { Runtime: wish.runtime }),
    },
  };
}

function inodesOf({ memoryBytes }: Limits): number {
  return Math.min(MAX_INODES, Math.max(MIN_INODES, Math.floor((memoryBytes * INODE_SHARE) / INODE_BYTES)));
}

/** Slightly more than the disk size: a program that fills the disk gets "no space left" before it gets SIGXFSZ. */
export function largestFile(limits: Limits): number {
  return limits.diskBytes + 1024 * 1024;
}

/** Picks a uid that no container in `taken` has, so that its process limit counts only this session's processes. */
export function pickUid(taken: ReadonlySet<number>): number {
  const start = randomInt(UIDS);
  for (let step = 0; step < UIDS; step += 1) {
    const uid = FIRST_UID + ((start + step) % UIDS);
    if (!taken.has(uid)) return uid;
  }
  return FIRST_UID + start;
}

const PREFIX = "markmill.";

export const labelNames = {
  kind: `${PREFIX}sandbox`,
  session: `${PREFIX}session`,
  uid: `${PREFIX}uid`,
} as const;

export function labelsOf(labels: SessionLabels): Record<string, string> {
  return {
    [`${PREFIX}app`]: labels.app,
    [`${PREFIX}run`]: labels.run,
    [`${PREFIX}worker`]: labels.worker,
    [`${PREFIX}created`]: labels.created,
    [`${PREFIX}deadline`]: labels.deadline,
  };
}

export function readLabels(labels: Readonly<Record<string, string>>): SessionLabels {
  return {
    app: labels[`${PREFIX}app`] ?? "",
    run: labels[`${PREFIX}run`] ?? "",
    worker: labels[`${PREFIX}worker`] ?? "",
    created: labels[`${PREFIX}created`] ?? "",
    deadline: labels[`${PREFIX}deadline`] ?? "",
  };
}
