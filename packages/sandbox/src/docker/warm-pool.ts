// Creates containers ahead of time, so that a session starts without waiting for one. Invariants:
// 1. One session takes a container, and never returns it: nothing of one run can reach another.
// 2. A pool container has labels and a time limit like a session, so the cleanup can end it when its worker is gone.
// 3. If filling fails, the pool is only empty: sessions then start cold and get the error themselves.

import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import type { EngineHost } from "./engine-host.ts";
import type { Launcher } from "./launcher.ts";

const RETRY_MS = 5_000;

export interface WarmContainer {
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
  /** Started ahead; waits for files and the first command. */
  readonly launcher: Launcher;
  readonly madeAt: number;
}

export interface WarmPoolOptions {
  readonly size: number;
  readonly maxAgeMs: number;
  readonly make: () => Promise<WarmContainer>;
  readonly discard: (warm: WarmContainer) => Promise<void>;
}

export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #over = new AbortController();
  #ready: WarmContainer[] = [];
  #filling: Promise<void> | undefined;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    this.#fill();
  }

  get ready(): number {
    return this.#ready.length;
  }

  /** Takes a container for one session; undefined when none is ready. */
  take(): WarmContainer | undefined {
    for (;;) {
      const warm = this.#ready.shift();
      if (warm === undefined) break;
      if (!warm.launcher.ended && Date.now() - warm.madeAt < this.#options.maxAgeMs) {
        // Filling and the session compete for the engine, so let the session's first command go first.
        setTimeout(() => this.#fill(), 250).unref();
        return warm;
      }
      void this.#options.discard(warm).catch(() => {});
    }
    this.#fill();
    return undefined;
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#filling;
    const left = this.#ready;
    this.#ready = [];
    await Promise.all(left.map((warm) => this.#options.discard(warm)));
  }

  #fill(): void {
    if (this.#over.signal.aborted) return;
    this.#filling ??= this.#fillUp().finally(() => {
      this.#filling = undefined;
    });
  }

  async #fillUp(): Promise<void> {
    while (!this.#over.signal.aborted && this.#ready.length < this.#options.size) {
      try {
        this.#ready.push(await this.#options.make());
      } catch {
        await pause(RETRY_MS, undefined, { signal: this.#over.signal, ref: false }).catch(() => {});
      }
    }
  }
}
