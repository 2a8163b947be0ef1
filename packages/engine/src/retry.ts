/**
 * When an activity is tried again: `retryAt` after a failure that may pass at once, `unparkAt` for an endpoint in trouble. The failure
 * says which (`failure.ts`, NextStep), and step.ts asks for it.
 */
import type { RetryPolicy } from "./program.ts";

export const defaultRetry: RetryPolicy = { attempts: 4, baseMs: 1_000, factor: 3, maxMs: 60_000 };

/** For an endpoint in trouble: it is looked at again at least every five minutes, whatever it wished. */
const parking: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 1_000, factor: 2, maxMs: 300_000 };

/** When the next attempt may begin: the wish of the other side if it is later, never more than an hour away. */
export function retryAt(
  policy: RetryPolicy,
  attempt: number,
  at: number,
  retryAfterMs: number | null,
  seed: number,
): number {
  return wait(policy, attempt, at, Math.min(retryAfterMs ?? 0, 3_600_000), seed);
}

/** When a parked activity is tried again. */
export function unparkAt(tries: number, at: number, retryAfterMs: number | null, seed: number): number {
  return wait(parking, tries, at, Math.min(retryAfterMs ?? 0, parking.maxMs), seed);
}

function wait(policy: RetryPolicy, attempt: number, at: number, wished: number, seed: number): number {
  const wait = Math.min(policy.maxMs, policy.baseMs * policy.factor ** Math.max(0, attempt - 1));
  const jitter = wait * 0.2 * ((seed >>> 0) / 2 ** 32);
  return Math.round(at + Math.max(wait + jitter, wished));
}
