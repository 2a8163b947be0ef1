// Keeps calls under a model's requests and tokens per minute before the endpoint has to refuse them. The decision is pure and
// needs two numbers per model, so a gate shared by all workers is one row in Postgres; this file also has the gate for one process.
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelLimits } from "./model-catalogue.ts";

export interface RateGate {
  /** Resolves when the call may start. Rejects with the signal's reason when it fires first; the slot then passes unused. */
  take(model: string, tokens: number, limits: ModelLimits, signal?: AbortSignal): Promise<void>;
}

/** The instants (ms, any one clock) at which the requests and tokens granted so far are worked off at the allowed rate. */
export interface RateState {
  readonly requestsUntil: number;
  readonly tokensUntil: number;
}

export const freshRateState: RateState = { requestsUntil: 0, tokensUntil: 0 };

/**
 * How far ahead of the even rate a burst may run. Endpoints enforce a minute's limit over shorter stretches too, so a full
 * minute's allowance at once would be refused.
 */
const BURST_MS = 6_000;
const MINUTE_MS = 60_000;

/** Grants a slot at once and says when it begins: waiting is the caller's matter, and arrival order is start order. */
export function grantSlot(
  state: RateState,
  tokens: number,
  limits: ModelLimits,
  now: number,
): { state: RateState; startAt: number } {
  const perRequest = limits.requestsPerMinute === undefined ? 0 : MINUTE_MS / limits.requestsPerMinute;
  const perCall = limits.tokensPerMinute === undefined ? 0 : (MINUTE_MS / limits.tokensPerMinute) * tokens;
  // A model slower than one request per burst still gets its first request at once.
  const startAt = Math.max(now, state.requestsUntil - Math.max(BURST_MS - perRequest, 0), state.tokensUntil - BURST_MS);
  return {
    startAt,
    state: {
      requestsUntil: Math.max(startAt, state.requestsUntil) + perRequest,
      tokensUntil: Math.max(startAt, state.tokensUntil) + perCall,
    },
  };
}

export function createRateGate(): RateGate {
  const states = new Map<string, RateState>();
  return {
    async take(model, tokens, limits, signal) {
      signal?.throwIfAborted();
      const now = performance.now();
      const slot = grantSlot(states.get(model) ?? freshRateState, tokens, limits, now);
      states.set(model, slot.state);
      if (slot.startAt > now) await sleep(slot.startAt - now, undefined, signal === undefined ? {} : { signal });
    },
  };
}
