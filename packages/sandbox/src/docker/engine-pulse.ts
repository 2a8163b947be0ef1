/**
 * Watches whether one Docker engine answers. An engine is watched only while a call or stream to it is open.
 *
 * P1  While a call or a stream is open, the engine is pinged. A stream may be silent as long as its command is silent; an engine may not.
 * P2  An engine that has answered no ping for `silentMs` is unreachable: all open calls and streams to it are given up, and new calls are
 *     refused at once. It is still pinged, and receives calls again as soon as it answers.
 * P3  `stalledMs` counts the time in which the engine did not answer. That time is not charged to a command. The pause before a late ping
 *     counts too, because the engine may have stopped in it. The pause before a late answer does not count, or a slow engine's commands
 *     would never time out.
 *     Not more than `stallsMs`, or the command's own time limit if that is longer, is credited. Beyond that the engine is in trouble.
 * P4  If this process itself stood still, it sent no pings meanwhile, so the engine is not blamed. Only pings that had their full time
 *     count, and the last ping is sent after `silentMs` is over.
 * P5  If there are several engines, one late or failed ping is enough to skip an engine: it gets no new work until it answers. Open calls
 *     continue; only P2 gives them up.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxError } from "../sandbox-error.ts";
import type { EngineBounds } from "./engine-bounds.ts";
import { engineUnreachable, whyOf } from "./translate-engine-error.ts";

/** A ping that takes longer than this is a stall, not a slow answer. */
const STALL_MS = 500;

/** Rejects when the engine does not answer, or the signal aborts. */
export type Ping = (signal: AbortSignal) => Promise<void>;

/** Replaces the real clock in tests. */
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
  /** When the first ping without an answer was sent. */
  #askedAt: number | undefined;
  /** The start of the stall, if that ping gets no answer in time. */
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

  /** Pings the engine until the caller calls the returned function. Calls `giveUp` once if the engine is given up before that. */
  watch(giveUp: (error: SandboxError) => void): () => void {
    this.#waiting.add(giveUp);
    this.#beat();
    return () => {
      this.#waiting.delete(giveUp);
    };
  }

  /** The total time, in milliseconds, in which a call waited for the engine and the engine did not answer. */
  stalledMs(): number {
    return this.#stalled + (this.isSilent() ? this.#clock.now() - this.#stalledFrom : 0);
  }

  /** The stalled time since it was `before`, for a command that may take `ownMs`. Throws when it exceeds the time that may be credited. */
  stalledSince(before: number, ownMs: number): number {
    const stalled = this.stalledMs() - before;
    if (stalled <= Math.max(this.#bounds.stallsMs, ownMs)) return stalled;
    const why = `it stalled again and again, for ${Math.round(stalled / 1000)} s in sum`;
    throw engineUnreachable(this.#address, why);
  }

  /** A ping has had no answer for longer than a normal answer takes. */
  isSilent(): boolean {
    return this.#away || (this.#askedAt !== undefined && this.#clock.now() - this.#askedAt > STALL_MS);
  }

  /** Whether the engine answers now. Used if there are several engines: no caller waits for an engine that is unreachable or skipped. */
  async answers(): Promise<boolean> {
    if (this.#away || this.#leftOut) return false;
    if (await this.#asked(this.#bounds.answerMs)) return true;
    this.#leftOut = true;
    this.#beat();
    return false;
  }

  /** Resolves when the engine has answered a ping that was sent now, at once or after a stall. Throws when the engine is given up. */
  async confirm(): Promise<void> {
    const giveUpAt = this.#clock.now() + this.#bounds.silentMs;
    while (!this.#away) {
      if (await this.#asked(this.#bounds.answerMs)) return;
      if (this.#clock.now() > giveUpAt) break;
      await this.#pause();
    }
    // Later calls get the full time again.
    if (!this.#beating) this.#askedAt = undefined;
    throw this.unreachable();
  }

  unreachable(): SandboxError {
    return engineUnreachable(this.#address, this.#why);
  }

  /** Gives up all open calls and streams. */
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
