/**
 * Whether one Docker engine answers. Nothing of an engine that is asked nothing is looked at.
 *
 * P1  While a call or a stream is under way the engine is pinged. A stream may be silent for as long as a command is; an engine may not.
 * P2  An engine that has answered no ping for `silentMs` is away: all that waits for it is given up, and new calls are refused at once.
 *     It is pinged on, and calls go to it again as soon as it answers.
 * P3  `stalledMs` counts the time in which it did not answer. That time belongs to no command. The pause before a late ping counts too, because
 *     the engine may have stopped in it; not so after a late answer, or the time of a slow engine's commands would stand still.
 *     Nothing is given back beyond `stallsMs`, or the time that a command may take if that is longer: then the engine is in trouble.
 * P4  If this process itself stood still, no ping was sent meanwhile, so the engine is not blamed for it: only pings that were given
 *     their time count, and the last one is sent after `silentMs` is over.
 * P5  For an engine beside others one late or failed ping is enough to leave it out: nothing new goes to it until it answers. What is under way
 *     there goes on; P2 alone gives it up.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxError } from "../sandbox-error.ts";
import type { EngineBounds } from "./engine-bounds.ts";
import { engineUnreachable, whyOf } from "./translate-engine-error.ts";

/** A ping that takes longer than this is a stall, not a slow answer. */
const STALL_MS = 500;

/** Rejects when the engine does not answer, or the signal aborts. */
export type Ping = (signal: AbortSignal) => Promise<void>;

/** Another than the real one, for tests. */
export interface Clock {
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

const realClock: Clock = {
  now: () => performance.now(),
  pause: async (ms, signal) => {
    await pause(ms, undefined, { signal, ref: false }).catch(() => {});
  },
};

export class EnginePulse {
  readonly #address: string;
  readonly #ping: Ping;
  readonly #bounds: EngineBounds;
  readonly #clock: Clock;
  readonly #waiting = new Set<(error: SandboxError) => void>();
  readonly #over = new AbortController();
  #beating = false;
  #away = false;
  #leftOut = false;
  #heardAt: number;
  #heardLate = false;
  /** When the first ping was sent that has no answer yet. */
  #askedAt: number | undefined;
  /** If it gets none in time, the stall began then. */
  #stalledFrom = 0;
  #stalled = 0;
  #why = "it has not answered a ping";

  constructor(address: string, ping: Ping, bounds: EngineBounds, clock = realClock) {
    this.#address = address;
    this.#ping = ping;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#heardAt = clock.now();
  }

  get away(): boolean {
    return this.#away;
  }

  /** The engine is pinged until the answer is called. `giveUp` is called once, when the engine is given up before that. */
  watch(giveUp: (error: SandboxError) => void): () => void {
    this.#waiting.add(giveUp);
    this.#beat();
    return () => {
      this.#waiting.delete(giveUp);
    };
  }

  /** Milliseconds so far in which something was awaited from the engine and it did not answer. */
  stalledMs(): number {
    return this.#stalled + (this.isSilent() ? this.#clock.now() - this.#stalledFrom : 0);
  }

  /** The same since it was `before`, for a command that may take `ownMs`. Throws when that is more than can be given back. */
  stalledSince(before: number, ownMs: number): number {
    const stalled = this.stalledMs() - before;
    if (stalled <= Math.max(this.#bounds.stallsMs, ownMs)) return stalled;
    const why = `it stalled again and again, for ${Math.round(stalled / 1000)} s in sum`;
    throw engineUnreachable(this.#address, why);
  }

  /** A ping is without an answer for longer than answers take. */
  isSilent(): boolean {
    return this.#away || (this.#askedAt !== undefined && this.#clock.now() - this.#askedAt > STALL_MS);
  }

  /** Whether it answers now. For an engine beside others: nobody waits for one that is away or left out. */
  async answers(): Promise<boolean> {
    if (this.#away || this.#leftOut) return false;
    if (await this.#asked(this.#bounds.answerMs)) return true;
    this.#leftOut = true;
    this.#beat();
    return false;
  }

  /** Resolves when it has answered a ping that was sent now, at once or after a stall. Throws when it is given up. */
  async confirm(): Promise<void> {
    const giveUpAt = this.#clock.now() + this.#bounds.silentMs;
    while (!this.#away) {
      if (await this.#asked(this.#bounds.answerMs)) return;
      if (this.#clock.now() > giveUpAt) break;
      await this.#pause();
    }
    // What is asked later has the whole time again.
    if (!this.#beating) this.#askedAt = undefined;
    throw this.unreachable();
  }

  unreachable(): SandboxError {
    return engineUnreachable(this.#address, this.#why);
  }

  /** All that waits for it is given up. */
  close(): void {
    this.#over.abort();
    this.#giveUp(engineUnreachable(this.#address, "this process does not need it any more"));
  }

  #beat(): void {
    if (this.#beating || this.#over.signal.aborted) return;
    this.#beating = true;
    this.#heardAt = this.#clock.now();
    this.#heardLate = false;
    void this.#goOn();
  }

  async #goOn(): Promise<void> {
    const { silentMs, answerMs } = this.#bounds;
    for (;;) {
      await this.#pause();
      if (this.#over.signal.aborted || !(this.#away || this.#leftOut || this.#waiting.size > 0)) {
        this.#beating = false;
        this.#askedAt = undefined;
        return;
      }
      const now = this.#clock.now();
      const leftMs = silentMs - (now - (this.#askedAt ?? now));
      if (await this.#asked(Math.max(STALL_MS, Math.min(answerMs, leftMs)))) this.#away = this.#leftOut = false;
      else if (leftMs <= 0 && !this.#away) this.#leave();
    }
  }

  async #asked(withinMs: number): Promise<boolean> {
    const sentAt = this.#clock.now();
    if (this.#askedAt === undefined) {
      this.#askedAt = sentAt;
      this.#stalledFrom = this.#beating && !this.#heardLate ? this.#heardAt : sentAt;
    }
    try {
      await this.#ping(AbortSignal.any([AbortSignal.timeout(withinMs), this.#over.signal]));
    } catch (error) {
      const late = error instanceof Error && error.name === "AbortError";
      this.#why = late ? `no answer to a ping in ${Math.round(withinMs)} ms` : whyOf(error);
      return false;
    }
    const now = this.#clock.now();
    if (this.#askedAt !== undefined) {
      const tookMs = now - this.#askedAt;
      this.#heardLate = tookMs > STALL_MS;
      if (this.#heardLate) {
        this.#stalled += now - this.#stalledFrom;
        this.#why = `an answer to a ping took ${Math.round(tookMs)} ms`;
      }
    }
    this.#askedAt = undefined;
    this.#heardAt = now;
    return true;
  }

  #leave(): void {
    this.#away = true;
    this.#giveUp(this.unreachable());
    this.#beat();
  }

  #giveUp(error: SandboxError): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const giveUp of waiting) giveUp(error);
  }

  async #pause(): Promise<void> {
    await this.#clock.pause(this.#bounds.pingMs, this.#over.signal);
  }
}
