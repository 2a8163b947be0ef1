/**
 * Activities that were claimed with the commit before them (store, claim-ahead.ts), until their own delivery comes. One whose delivery does not come
 * is forgotten when its lease is over: nobody renews it. Whoever takes an old one renews it first, as any claim whose answer came late.
 */
import type { Delivery } from "@markmill/engine";
import type { ClaimedAhead } from "@markmill/store/machine";

type Ahead = Pick<Delivery, "activityId" | "epoch" | "attempt">;

export interface ClaimsAhead {
  keep(claimedAhead: ClaimedAhead): void;
  /** Says whether it was there: what somebody has taken is theirs. */
  drop(activityId: number): boolean;
  /** Those that fit; their deliveries ask the store. */
  forget(fits: (claim: ClaimedAhead["claimed"]) => boolean): void;
  /** null: none is known for this delivery. */
  take(delivery: Ahead): ClaimedAhead | null;
}

export function createClaimsAhead(leaseMs: number, now: () => number = () => performance.now()): ClaimsAhead {
  const kept = new Map<number, ClaimedAhead>();

  function forget(fits: (one: ClaimedAhead) => boolean): void {
    for (const [id, one] of kept) if (fits(one)) kept.delete(id);
  }

  return {
    keep(claimedAhead) {
      forget(({ asked }) => now() - asked > 2 * leaseMs);
      kept.set(claimedAhead.claimed.activity.id, claimedAhead);
    },
    drop: (activityId) => kept.delete(activityId),
    forget: (fits) => forget(({ claimed }) => fits(claimed)),
    take({ activityId, epoch, attempt }) {
      const found = kept.get(activityId);
      if (found === undefined) return null;
      kept.delete(activityId);
      const { activity } = found.claimed;
      return activity.epoch === epoch && activity.ref.attempt === attempt ? found : null;
    },
  };
}
