// Where a wall of a sandbox is thinner than it should be, and only the operator can judge whether that will do. Invariants:
// 1. Each has a name, is told at start, by doctor and by the self-test, and refuses every session until it is accepted by name.
// 2. Accepting one says nothing about another, nor about a probe that failed.

import { SandboxError } from "./sandbox-error.ts";

const thinWallNames = ["no-cgroup", "old-engine"] as const;
export type ThinWallName = (typeof thinWallNames)[number];

export interface ThinWall {
  readonly name: ThinWallName;
  /** One sentence: what is thin, and what that means. */
  readonly message: string;
  /** What makes it as thick as it should be. */
  readonly fix: string;
}

export const noCgroup: ThinWall = {
  name: "no-cgroup",
  message:
    "Markmill cannot write a cgroup on this machine. It checks the memory of a session only ten times a second, and does not count " +
    "the buffers of the kernel.",
  fix:
    "Start Markmill in its own cgroup (systemd-run --user --scope -p Delegate=yes -- markmill …) or as root, or use Docker, " +
    "or accept it: SANDBOX_ACCEPT=no-cgroup.",
};

export function oldEngine(warnings: readonly string[]): ThinWall {
  return {
    name: "old-engine",
    message: warnings.join(" "),
    fix: "Upgrade Docker Engine and runc, or accept it: SANDBOX_ACCEPT=old-engine.",
  };
}

export function thinWallsRefused(walls: readonly ThinWall[]): SandboxError {
  return new SandboxError(
    "SANDBOX_THIN",
    walls.map(({ name, message }) => `${name}: ${message}`).join(" "),
    walls.map(({ fix }) => fix).join(" "),
  );
}
