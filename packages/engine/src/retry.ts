/**
 * Computes when an activity is retried: `retryAt` after a failure that may pass quickly, `unparkAt` for an endpoint in trouble. The failure
 * decides which one applies (`failure.ts`, NextStep); after-failure.ts calls them.
 */
import type { RetryPolicy } from "./program.ts";

export const defaultRetry: RetryPolicy = { attempts: 4, baseMs: 1_000, factor: 3, maxMs: 60_000 };

/** For an endpoint in trouble: it is tried at least every five minutes, even if it requested a longer wait. */
const parking: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 1_000, factor: 2, maxMs: 300_000 };

/** The time of the next attempt. It respects a later time that the other side requested, up to one hour. */
export function retryAt(
  policy: RetryPolicy,
  attempt: number,
  at: number,
  retryAfterMs: number | null,
  seed: number,
): number {
  return wait(policy, attempt, at, Math.min(retryAfterMs ?? 0, 3_600_000), seed);
}

/** The time at which a parked activity is retried. */
export function unparkAt(tries: number, at: number, retryAfterMs: number | null, seed: number): number {
  return wait(parking, tries, at, Math.min(retryAfterMs ?? 0, parking.maxMs), seed);
}

function wait(policy: RetryPolicy, attempt: number, at: number, wished: number, seed: number): number {
  const wait = Math.min(policy.maxMs, policy.baseMs * policy.factor ** Math.max(0, attempt - 1));
  const jitter = wait * 0.2 * ((seed >>> 0) / 2 ** 32);
  return Math.round(at + Math.max(wait + jitter, wished));
}
