// Thin walls: isolation of a sandbox that is weaker than it should be, where only the operator can decide whether it is enough. Invariants:
// 1. Each has a name. It is reported at start, by doctor and by the self-test, and refuses every session until the operator accepts it by
//    name.
// 2. Accepting one does not accept another, nor a probe that failed.

import { SandboxError } from "./sandbox-error.ts";

const thinWallNames = ["no-cgroup", "old-engine"] as const;
export type ThinWallName = (typeof thinWallNames)[number];

export interface ThinWall {
  readonly name: ThinWallName;
  /** One sentence: what is weak, and the consequence. */
  readonly message: string;
  /** How to make it as strong as it should be. */
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
