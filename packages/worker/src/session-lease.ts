/**
 * The lease of a session (Y1 of sessions.ts). A worker claims it, renews it while it uses the session, and then releases it. By the
 * worker's own clock it ends no later than in Postgres, because the worker counts from before each request.
 */
import { claimSession, type Database, releaseSession, renewSessions, type SessionClaim } from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";
import { SessionBusy } from "./session-busy.ts";

const leaseMs = 15_000;

export interface SessionLeaseParts {
  readonly database: Database;
  /** The kind of sandbox. */
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
}

export interface SessionLease {
  readonly claim: Extract<SessionClaim, { kind: "held" }>;
  /** Aborted when the lease was lost. Code that detects the loss in another way aborts it, too. */
  readonly lost: AbortController;
  /** Aborts `lost` when the lease is over by this worker's clock. */
  check(): void;
  /** `clean`: nothing runs in the session that its next holder would have to end. */
  giveBack(clean: boolean): Promise<void>;
}

/** Throws SessionBusy while another worker holds it. */
export async function takeSessionLease(
  { database, kind, host, worker }: SessionLeaseParts,
  rootId: string,
  activity: { readonly id: number; readonly claim: number },
): Promise<SessionLease> {
  let heldUntil = performance.now() + leaseMs;
  const claim = await awaitStore(() => claimSession(database, { id: rootId, kind, host, worker, leaseMs, activity }));
  if (claim.kind !== "held") throw new SessionBusy(rootId, claim.worker, Math.max(200, claim.forMs));
  const lost = new AbortController();
  const renewing = setInterval(() => {
    const sentAt = performance.now();
    renewSessions(database, [rootId], worker, leaseMs).then(
      (held) => {
        if (held.has(rootId)) heldUntil = sentAt + leaseMs;
        else lost.abort(new Error("The lease of the session was lost."));
      },
      () => undefined,
    );
  }, leaseMs / 3);
  return {
    claim,
    lost,
    check() {
      if (performance.now() > heldUntil) lost.abort(new Error("The lease of the session is over."));
    },
    async giveBack(clean) {
      clearInterval(renewing);
      await releaseSession(database, rootId, worker, clean).catch(() => undefined);
    },
  };
}
