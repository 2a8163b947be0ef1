/**
 * Keeps activities that the previous commit claimed ahead (store, claim-ahead.ts), until their own delivery arrives. If the delivery does
 * not arrive, the claim is forgotten when its lease expires, because the worker does not renew it. An old claim is renewed before its work
 * begins, as after every claim whose answer came late.
 */
import type { Delivery } from "@markmill/engine";
import type { ClaimedAhead } from "@markmill/store/machine";

type Ahead = Pick<Delivery, "activityId" | "epoch" | "attempt">;

export interface ClaimsAhead {
  keep(claimedAhead: ClaimedAhead): void;
  /** Returns whether the claim was still here. A delivery that has taken it owns it. */
  drop(activityId: number): boolean;
  /** Forgets the claims that match. Their deliveries ask the store. */
  forget(fits: (claim: ClaimedAhead["claimed"]) => boolean): void;
  /** null: there is no claim for this delivery. */
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
