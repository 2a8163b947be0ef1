/**
 * Activities that were claimed with the commit before them (store, followed.ts), until their own delivery comes. One whose delivery does not come
 * is forgotten when its lease is over: nobody renews it. Whoever takes an old one renews it first, as any claim whose answer came late.
 */
import type { Delivery } from "@markmill/engine";
import type { Followed } from "@markmill/store/machine";

type Ahead = Pick<Delivery, "activityId" | "epoch" | "attempt">;

export interface ClaimsAhead {
  keep(followed: Followed): void;
  /** Says whether it was there: what somebody has taken is theirs. */
  drop(activityId: number): boolean;
  /** Those that fit; their deliveries ask the store. */
  forget(fits: (claim: Followed["claimed"]) => boolean): void;
  /** null: none is known for this delivery. */
  take(delivery: Ahead): Followed | null;
}

export function createClaimsAhead(leaseMs: number, now: () => number = () => performance.now()): ClaimsAhead {
  const kept = new Map<number, Followed>();

  function forget(fits: (one: Followed) => boolean): void {
    for (const [id, one] of kept) if (fits(one)) kept.delete(id);
  }

  return {
    keep(followed) {
      forget(({ asked }) => now() - asked > 2 * leaseMs);
      kept.set(followed.claimed.activity.id, followed);
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
