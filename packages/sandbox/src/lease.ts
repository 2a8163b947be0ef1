// Ends a session that has no live worker. The session's own process (the jail's first process, or the container's) ends itself when no
// process has renewed its lease for LEASE_MS. Two kinds of processes renew it: those that opened the
// session, and those that list the sessions of the host.
// Invariants:
// 1. The session ends without help from another process: a minute after kill -9 of every worker, no process of the session runs.
// 2. A session outlives its worker long enough for another worker to attach.
// 3. A failed renewal is tried again at the next interval; it never disturbs a command.

export const LEASE_MS = 50_000;
const RENEW_MS = 10_000;

export class LeaseKeeper {
  readonly #renew: (id: string) => Promise<void>;
  readonly #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** `renew` throws when the session no longer exists. */
  constructor(renew: (id: string) => Promise<void>) {
    this.#renew = renew;
  }

  keep(id: string): void {
    this.#ids.add(id);
    this.#timer ??= setInterval(() => {
      for (const kept of this.#ids) void this.once(kept);
    }, RENEW_MS).unref();
  }

  /** Renews once, for a process that does not hold the session. */
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
