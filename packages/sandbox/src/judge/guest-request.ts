// Reads a request of `guest` and checks it against this judge's limits. Pure.

import type { Limits } from "../limits.ts";

export interface GuestRequest {
  readonly argv: readonly [string, ...string[]];
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly pids: number;
  /** The guest gets files from the request instead of the submission. */
  readonly sendsFiles: boolean;
  /** The request asks for the files that the guest leaves. */
  readonly wantsFiles: boolean;
}

const MIB = 1024 * 1024;

export const guestDefaults = { timeMs: 10_000, memoryBytes: 256 * MIB, outputBytes: MIB, pids: 64 } as const;

/** The most a guest may write, regardless of its request. */
export const MAX_GUEST_OUTPUT = 64 * MIB;

/** Returns undefined when the payload is not a request. Values above the ceiling are reduced to it. */
export function readGuestRequest(payload: Uint8Array, ceiling: Limits): GuestRequest | undefined {
  const fields = Buffer.from(payload).toString("utf8").split("\0");
  const [time, memory, output, processes, files, save, program, ...args] = fields;
  if (program === undefined || program === "" || files === undefined || save === undefined) return undefined;
  const number = (text: string | undefined, otherwise: number, unit: number, most: number) => {
    const value = text === undefined || text === "" ? otherwise : Number(text) * unit;
    return Number.isFinite(value) && value > 0 ? Math.max(1, Math.floor(Math.min(value, most))) : undefined;
  };
  const timeMs = number(time, guestDefaults.timeMs, 1000, ceiling.wallMs);
  const memoryBytes = number(memory, guestDefaults.memoryBytes, MIB, ceiling.memoryBytes);
  const outputBytes = number(output, guestDefaults.outputBytes, 1, MAX_GUEST_OUTPUT);
  const pids = number(processes, guestDefaults.pids, 1, ceiling.pids);
  if (timeMs === undefined || memoryBytes === undefined || outputBytes === undefined || pids === undefined)
    return undefined;
  return {
    argv: [program, ...args],
    timeMs,
    memoryBytes,
    outputBytes,
    pids,
    sendsFiles: files === "1",
    wantsFiles: save === "1",
  };
}

/** The session limits for one guest. */
export function guestLimits(request: GuestRequest, ceiling: Limits): Limits {
  return {
    ...ceiling,
    memoryBytes: request.memoryBytes,
    pids: request.pids,
    wallMs: request.timeMs,
    // The processor limit is not tighter than the wall clock, which ends the guest: a guest on two cores may compute twice as long as it
    // lives.
    cpuMs: Math.ceil(request.timeMs * Math.max(1, ceiling.cpus)),
    silenceMs: request.timeMs,
    outputBytes: request.outputBytes,
  };
}
