/**
 * The lease of a session (Y1 of sessions.ts): taken by a claim, renewed while its holder uses the session, given back after that. By the
 * holder's own clock it is over no later than in Postgres, because it counts from before each request.
 */
import { claimSession, type Database, releaseSession, renewSessions, type SessionClaim } from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";
import { SessionBusy } from "./session-busy.ts";

const leaseMs = 15_000;

export interface SessionLeaseParts {
  readonly database: Database;
  /** Of the sandbox. */
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
}

export interface SessionLease {
  readonly claim: Extract<SessionClaim, { kind: "held" }>;
  /** Aborted when the lease was lost; whoever finds that out otherwise aborts it too. */
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
