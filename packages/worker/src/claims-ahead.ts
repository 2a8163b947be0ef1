/**
 * Activities that were claimed with the commit before them (store, followed.ts), until their own delivery comes. One whose delivery does not come
 * is forgotten when its lease is over: nobody renews it.
 */
import type { Delivery } from "@markmill/engine";
import type { Claimed } from "@markmill/store/machine";

interface ClaimAhead {
  readonly claimed: Claimed;
  /** performance.now() before it was asked for: its lease is no older. */
  readonly asked: number;
}

export interface ClaimsAhead {
  keep(claimed: Claimed, asked: number): void;
  drop(activityId: number): void;
  /** null: none is known for this delivery, or its lease may be over. */
  take(delivery: Pick<Delivery, "activityId" | "epoch" | "attempt">): ClaimAhead | null;
}

export function createClaimsAhead(leaseMs: number, now: () => number = () => performance.now()): ClaimsAhead {
  /** The oldest first. */
  const kept = new Map<number, ClaimAhead>();
  return {
    keep(claimed, asked) {
      for (const [id, one] of kept) {
        if (now() - one.asked < leaseMs) break;
        kept.delete(id);
      }
      kept.set(claimed.activity.id, { claimed, asked });
    },
    drop(activityId) {
      kept.delete(activityId);
    },
    take({ activityId, epoch, attempt }) {
      const found = kept.get(activityId);
      if (found === undefined) return null;
      kept.delete(activityId);
      const { activity } = found.claimed;
      const same = activity.epoch === epoch && activity.ref.attempt === attempt;
      return same && now() - found.asked < leaseMs ? found : null;
    },
  };
}
