// The resource limits of a session. Invariants:
// 1. A limit set always has a finite wall clock: a set without one is refused, never filled with a default.
// 2. A workflow's request never exceeds the server's ceiling.

import { SandboxError } from "./sandbox-error.ts";

export interface Limits {
  /**
   * Bytes of memory for all processes of the session. The kernel may count files as memory too; there, its limit is larger by the disk
   * sizes.
   */
  readonly memoryBytes: number;
  /** Number of cores; may be a fraction. */
  readonly cpus: number;
  /** Processes and threads of the whole session. */
  readonly pids: number;
  /** Bytes of the workspace. /tmp has the same limit separately. */
  readonly diskBytes: number;
  /** Per command: milliseconds from start to forced end. */
  readonly wallMs: number;
  /** Per command: milliseconds of processor time, all its processes together. */
  readonly cpuMs: number;
  /** Per command: milliseconds without a byte of output. */
  readonly silenceMs: number;
  /** Per command: bytes of output shown; the rest is read and discarded. */
  readonly outputBytes: number;
}

export const defaultLimits: Limits = {
  memoryBytes: 512 * 1024 * 1024,
  cpus: 1,
  pids: 128,
  diskBytes: 256 * 1024 * 1024,
  wallMs: 120_000,
  cpuMs: 60_000,
  silenceMs: 60_000,
  outputBytes: 64 * 1024,
};

const names = Object.keys(defaultLimits) as (keyof Limits)[];

/** The effective limits: the requested values, or the ceiling if there is no request, never above the ceiling. */
export function clampLimits(requested: Partial<Limits>, ceiling: Limits): Limits {
  const entries = names.map((name) => [name, clampOne(name, requested[name], ceiling[name])] as const);
  return Object.fromEntries(entries) as Record<keyof Limits, number>;
}

/** Refuses a limit set that is incomplete or unbounded. Adapters call it before they create anything. */
export function checkLimits(limits: Limits): Limits {
  return clampLimits(limits, limits);
}

function clampOne(name: keyof Limits, requested: number | undefined, ceiling: number): number {
  return Math.min(positive(name, requested ?? ceiling), positive(name, ceiling));
}

function positive(name: keyof Limits, value: number | undefined): number {
  const whole = name === "cpus" ? value : Math.floor(value ?? Number.NaN);
  if (whole === undefined || !Number.isFinite(whole) || whole <= 0) {
    throw new SandboxError(
      "SANDBOX_LIMITS_INVALID",
      `The limit ${name} is ${String(value)}${name === "wallMs" ? ", so a command could run for ever." : "."}`,
      `Set ${name} to a positive finite number.`,
    );
  }
  return whole;
}
