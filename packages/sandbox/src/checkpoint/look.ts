// Bounds one scan of a session's files, for listing or for reading. Foreign commands created these files, so a scan needs bounds of its
// own. Invariants:
// 1. A scan ends after a maximum number of entries, length of names, and time. Beyond a bound it throws: there is no checkpoint, and never
//    half of one.
// 2. A scan yields to the rest of the process about a hundred times a second.

import { setImmediate as turn } from "node:timers/promises";
import { SandboxError } from "../sandbox-error.ts";

export interface LookBounds {
  /** Files, folders, links, pipes and sockets together. */
  readonly maxEntries?: number;
  /** The time for listing and reading together. */
  readonly maxMs?: number;
}

const defaultLookBounds = { maxEntries: 20_000, maxMs: 10_000 } as const;

/** The maximum depth of folders below a writable folder. */
export const MAX_DEPTH = 128;
/** The longest path that the programs which restore files can use in one call. */
const MAX_PATH_BYTES = 4_000;
/** The average name length that the memory bound assumes: all names together may have at most `maxEntries` times this many bytes. */
const NAME_BYTES = 200;
const TURN_MS = 10;

export class Look {
  readonly maxEntries: number;
  readonly maxMs: number;
  readonly #now: () => number;
  readonly #until: number;
  #turnAt: number;
  #entries = 0;
  #nameBytes = 0;

  /** `now`: the clock, in milliseconds. */
  constructor({ maxEntries, maxMs }: LookBounds = {}, now = () => performance.now()) {
    this.maxEntries = maxEntries ?? defaultLookBounds.maxEntries;
    this.maxMs = maxMs ?? defaultLookBounds.maxMs;
    this.#now = now;
    this.#until = now() + this.maxMs;
    this.#turnAt = now() + TURN_MS;
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.#now());
  }

  get maxListBytes(): number {
    return this.maxEntries * NAME_BYTES;
  }

  /** Starts a new list. The clock keeps running. */
  begin(): void {
    this.#entries = 0;
    this.#nameBytes = 0;
  }

  /** The number of entries that may still be counted. */
  get entriesLeft(): number {
    return this.maxEntries - this.#entries;
  }

  /** `path` is a string of bytes, relative to the root. */
  count(path: string, depth: number): void {
    this.#entries += 1;
    this.#nameBytes += path.length;
    if (this.#entries > this.maxEntries) throw tooMany(this.maxEntries);
    if (depth > MAX_DEPTH) throw tooLarge(`has folders nested deeper than ${MAX_DEPTH}`, "Nest fewer folders.");
    if (path.length > MAX_PATH_BYTES)
      throw tooLarge(`has a path of more than ${MAX_PATH_BYTES} bytes`, "Use shorter names.");
    if (this.#nameBytes > this.maxListBytes)
      throw tooLarge(`has paths of more than ${this.maxListBytes} bytes together`, "Use shorter names.");
  }

  /** Callers must call this often: it checks the time and yields. */
  async pace(): Promise<void> {
    const now = this.#now();
    if (now > this.#until) throw tooSlow(this.maxMs);
    if (now < this.#turnAt) return;
    await turn();
    this.#turnAt = this.#now() + TURN_MS;
  }
}

/** Errors about the workspace, not about our software: the author of the commands can cause them. */
export const unfitForCheckpoint = [
  "SANDBOX_CHECKPOINT_TOO_LARGE",
  "SANDBOX_CHECKPOINT_TOO_SLOW",
  "SANDBOX_FILES_FAILED",
] as const;

export function isUnfit(error: unknown): error is SandboxError {
  return error instanceof SandboxError && unfitForCheckpoint.some((code) => code === error.code);
}

export function tooManyBytes(maxBytes: number): SandboxError {
  return tooLarge(
    `holds changes of more than ${maxBytes} bytes, the most a checkpoint may have`,
    "Leave less behind, or raise SANDBOX_CHECKPOINT_MB.",
  );
}

export function tooMany(maxEntries: number): SandboxError {
  return tooLarge(
    `has more than ${maxEntries} entries, the most a checkpoint may have`,
    "Leave fewer files behind, or raise SANDBOX_CHECKPOINT_FILES.",
  );
}

export function tooSlow(maxMs: number): SandboxError {
  return new SandboxError(
    "SANDBOX_CHECKPOINT_TOO_SLOW",
    `Looking through the workspace took longer than ${maxMs} ms.`,
    "Leave less behind, or raise SANDBOX_CHECKPOINT_SECONDS.",
  );
}

function tooLarge(what: string, fix: string): SandboxError {
  return new SandboxError("SANDBOX_CHECKPOINT_TOO_LARGE", `The workspace ${what}.`, fix);
}
