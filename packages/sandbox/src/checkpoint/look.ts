// One look at what a session holds, be it to list it or to read it. What is there was put there by foreign commands, so a look has
// bounds of its own. Invariants:
// 1. A look ends: after so many entries, so long names, so much time. Then there is no checkpoint, and that is told; half of one is none.
// 2. While it lasts everybody else of the process gets a turn, about a hundred times a second.

import { setImmediate as turn } from "node:timers/promises";
import { SandboxError } from "../sandbox-error.ts";

export interface LookBounds {
  /** Files, folders, links, pipes and sockets together. */
  readonly maxEntries?: number;
  /** Listing and reading together. */
  readonly maxMs?: number;
}

const defaultLookBounds = { maxEntries: 20_000, maxMs: 10_000 } as const;

/** Levels of folders below a place. */
export const MAX_DEPTH = 128;
/** What programs that put files back can name in one call. */
const MAX_PATH_BYTES = 4_000;
/** On average over all that may be there: the names together take no more memory than this many bytes for each. */
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

  /** A new list; the clock goes on. */
  begin(): void {
    this.#entries = 0;
    this.#nameBytes = 0;
  }

  /** How many more may come. */
  get entriesLeft(): number {
    return this.maxEntries - this.#entries;
  }

  /** `path` is a string of bytes, from the root. */
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

  /** To be called often. */
  async pace(): Promise<void> {
    const now = this.#now();
    if (now > this.#until) throw tooSlow(this.maxMs);
    if (now < this.#turnAt) return;
    await turn();
    this.#turnAt = this.#now() + TURN_MS;
  }
}

/** Told of a workspace, not of us: whoever wrote the commands can bring these about. */
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
