// What the engine is asked to create for a session: one fixed, hardened shape; only limits, labels and the image vary.
// Invariants:
// 1. Every field that confines is set here and nowhere else. Nothing of a workflow's text reaches a field but through limits,
//    checked ids and the allow-listed image.
// 2. The container's own process and the commands have different uids: a command cannot signal what keeps its container alive.
// 3. Read-only places belong to the keeper's uid: commands can read what is there and nothing more.
// 4. Nothing is on the host: the workspace and /tmp are sized tmpfs, so what a session wrote is gone with its container.

import { randomInt } from "node:crypto";
import type Docker from "dockerode";
import type { Limits } from "../limits.ts";
import { type ReadOnlyPlace, type ScratchPlace, type SessionLabels, WORKSPACE } from "../port.ts";
import type { EngineFacts } from "./engine-host.ts";
import { keeper } from "./keeper-script.ts";
import { seccompProfile } from "./seccomp-profile.ts";

/** Uids of the sandbox image's /etc/passwd; below 65536 so that a remapped or rootless engine has them. */
const FIRST_UID = 50_000;
const UIDS = 1_000;
export const KEEPER_UID = 49_999;

/** Room for the engine to start an exec when the session's own processes are at their limit (runc itself has ~10 threads). */
const EXEC_PROCESSES = 32;
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;
const MAX_INODES = 200_000;
const OPEN_FILES = 1024;
const STACK_BYTES = 64 * 1024 * 1024;
/** The sandbox's processes go first when the host runs out of memory. */
const OOM_SCORE = 500;

const seccompText = JSON.stringify(seccompProfile);

export interface ContainerWish {
  readonly name: string;
  readonly image: string;
  readonly limits: Limits;
  readonly uid: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The container ends itself after this, whoever has died. */
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
  facts: Pick<EngineFacts, "cgroupVersion" | "cpus">,
): ContainerTemplate {
  const { limits, uid } = wish;
  const scratch = `rw,exec,nosuid,nodev,size=${limits.diskBytes},nr_inodes=${MAX_INODES}`;
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
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      // cgroup v2 has no swappiness; equal memory and swap limits already leave no swap.
      ...(facts.cgroupVersion === "1" ? { MemorySwappiness: 0 } : {}),
      OomKillDisable: false,
      OomScoreAdj: OOM_SCORE,
      // The engine refuses more cores than it has; fewer is a tighter limit.
      NanoCpus: Math.max(1e7, Math.round(Math.min(limits.cpus, facts.cpus) * 1e9)),
      PidsLimit: limits.pids + EXEC_PROCESSES,
      Ulimits: [
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: largestFile(limits), Hard: largestFile(limits) },
        { Name: "stack", Soft: 8 * 1024 * 1024, Hard: STACK_BYTES },
      ],
      ShmSize: Math.min(SHARED_MEMORY_BYTES, limits.diskBytes),
      IpcMode: "private",
      CgroupnsMode: "private",
      Init: true,
      RestartPolicy: { Name: "no" },
      LogConfig: { Type: "none", Config: {} },
      ...(wish.runtime === undefined ? {} : { Runtime: wish.runtime }),
    },
  };
}

/** A little above what the disk holds: a program that fills it meets "no space left" before it meets SIGXFSZ. */
export function largestFile(limits: Limits): number {
  return limits.diskBytes + 1024 * 1024;
}

/** A uid no container of `taken` has, so that its process limit counts this session's processes only. */
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
