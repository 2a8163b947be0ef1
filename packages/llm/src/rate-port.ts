// The checks of a call before it leaves: the rate limit of its model, and the pause of an endpoint that refused other calls. All workers
// share both, so the only implementation stores them in Postgres (packages/store/src/money/rates-and-pauses.ts).
import type { ModelLimits } from "./model-catalogue.ts";
import type { ModelFailure } from "./model-failure.ts";

export type Passage =
  /** `probe`: the endpoint was paused, and this call tests whether it answers again. */
  | { readonly kind: "go"; readonly probe: string | null }
  | { readonly kind: "paused"; readonly reason: string; readonly forMs: number };

/** The rate limits and the pause of one endpoint. */
export interface RatePort {
  /** Resolves when the call may start. Rejects with the signal's reason if the signal fires first; the rate slot then expires unused. */
  take(model: string, tokens: number, limits: ModelLimits, signal?: AbortSignal): Promise<Passage>;
  /** Reports the result of a call that was allowed to start. null: an answer, or a failure of the request itself. */
  heard(model: string, passage: Passage, failure: ModelFailure | null): Promise<void>;
}
