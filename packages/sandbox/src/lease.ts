// How a session without a living worker ends: whatever keeps it (the jail's first process, a container's) ends itself when
// nobody has renewed its lease for LEASE_MS. Every process that opened a session, or looks after the sessions of its host,
// renews. Invariants:
// 1. Nobody's help is needed for the end: after kill -9 of every worker nothing of a session runs a minute later.
// 2. A session outlives its worker long enough for another one to attach.
// 3. A renewal that fails is tried again at the next turn; it never disturbs a command.

export const LEASE_MS = 50_000;
const RENEW_MS = 10_000;

export class LeaseKeeper {
  readonly #renew: (id: string) => Promise<void>;
  readonly #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** `renew` throws when there is nothing left to renew. */
  constructor(renew: (id: string) => Promise<void>) {
    this.#renew = renew;
  }

  keep(id: string): void {
    this.#ids.add(id);
    this.#timer ??= setInterval(() => {
      for (const kept of this.#ids) void this.once(kept);
    }, RENEW_MS).unref();
  }

  /** One renewal, by somebody who does not hold the session. */
  async once(id: string): Promise<void> {
    await this.#renew(id).catch(() => this.forget(id));
  }

  forget(id: string): void {
    this.#ids.delete(id);
    if (this.#ids.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  close(): void {
    this.#ids.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
