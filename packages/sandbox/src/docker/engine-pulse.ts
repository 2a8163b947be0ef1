/**
 * Whether one Docker engine answers. Nothing of an engine that is asked nothing is looked at.
 *
 * P1  While a call or a stream is under way the engine is pinged. A stream may be silent for as long as a command is; an engine may not.
 * P2  An engine that has answered no ping for `silentMs` is away: all that waits for it is given up, and new calls are refused at once.
 *     It is pinged on, and calls go to it again as soon as it answers.
 * P3  `stalledMs` counts the time in which it did not answer. That time belongs to no command.
 * P4  If this process itself stood still, no ping was sent meanwhile, so the engine is not blamed for it: only pings that were given
 *     their time count, and the last one is sent after `silentMs` is over.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxError } from "../sandbox-error.ts";
import type { EngineBounds } from "./engine-bounds.ts";
import { engineUnreachable, whyOf } from "./translate-engine-error.ts";

/** A ping that takes longer than this is a stall, not a slow answer. */
const STALL_MS = 500;

/** Rejects when the engine does not answer, or the signal aborts. */
export type Ping = (signal: AbortSignal) => Promise<void>;

export class EnginePulse {
  readonly #address: string;
  readonly #ping: Ping;
  readonly #bounds: EngineBounds;
  readonly #waiting = new Set<(error: SandboxError) => void>();
  readonly #over = new AbortController();
  #beating = false;
  #away = false;
  #heardAt = performance.now();
  /** When the first ping was sent that has no answer yet. */
  #askedAt: number | undefined;
  #stalled = 0;
  #why = "";

  constructor(address: string, ping: Ping, bounds: EngineBounds) {
    this.#address = address;
    this.#ping = ping;
    this.#bounds = bounds;
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
    return this.#stalled + (this.isSilent() ? performance.now() - this.#heardAt : 0);
  }

  /** A ping is without an answer for longer than answers take. */
  isSilent(): boolean {
    return this.#away || (this.#askedAt !== undefined && performance.now() - this.#askedAt > STALL_MS);
  }

  /** Whether it answers now. For an engine beside others: nobody waits for one that is known to be away. */
  async answers(): Promise<boolean> {
    if (this.#away) return false;
    if (await this.#asked(this.#bounds.answerMs)) return true;
    this.#leave();
    return false;
  }

  /** Resolves when it has answered a ping that was sent now, at once or after a stall. Throws when it is given up. */
  async confirm(): Promise<void> {
    const giveUpAt = performance.now() + this.#bounds.silentMs;
    while (!this.#away) {
      if (await this.#asked(this.#bounds.answerMs)) return;
      if (performance.now() > giveUpAt) break;
      await this.#pause();
    }
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
    this.#heardAt = performance.now();
    void this.#goOn();
  }

  async #goOn(): Promise<void> {
    const { silentMs, answerMs } = this.#bounds;
    for (;;) {
      await this.#pause();
      if (this.#over.signal.aborted || !(this.#away || this.#waiting.size > 0)) {
        this.#beating = false;
        this.#askedAt = undefined;
        return;
      }
      const leftMs = silentMs - (performance.now() - (this.#askedAt ?? performance.now()));
      if (await this.#asked(Math.max(STALL_MS, Math.min(answerMs, leftMs)))) this.#away = false;
      else if (leftMs <= 0 && !this.#away) this.#leave();
    }
  }

  async #asked(withinMs: number): Promise<boolean> {
    const sentAt = performance.now();
    if (!this.#beating) this.#heardAt = sentAt;
    this.#askedAt ??= sentAt;
    try {
      await this.#ping(AbortSignal.any([AbortSignal.timeout(withinMs), this.#over.signal]));
    } catch (error) {
      const late = error instanceof Error && error.name === "AbortError";
      this.#why = late ? `no answer to a ping in ${Math.round(withinMs)} ms` : whyOf(error);
      return false;
    }
    const now = performance.now();
    if (this.#askedAt !== undefined && now - this.#askedAt > STALL_MS) this.#stalled += now - this.#heardAt;
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
    const { signal } = this.#over;
    await pause(this.#bounds.pingMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
