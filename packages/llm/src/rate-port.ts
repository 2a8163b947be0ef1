// What a call passes before it leaves: the rate of its model, and the pause of an endpoint that refused others. Both are shared by all
// workers, so the one implementation is rows in Postgres (packages/store/src/money/rates-and-pauses.ts).
import type { ModelLimits } from "./model-catalogue.ts";
import type { ModelFailure } from "./model-failure.ts";

export type Passage =
  /** `probe`: the endpoint was paused, and this call finds out whether it answers again. */
  | { readonly kind: "go"; readonly probe: string | null }
  | { readonly kind: "paused"; readonly reason: string; readonly forMs: number };

/** Of one endpoint. */
export interface RatePort {
  /** Resolves when the call may start. Rejects with the signal's reason when it fires first; the slot then passes unused. */
  take(model: string, tokens: number, limits: ModelLimits, signal?: AbortSignal): Promise<Passage>;
  /** What came of a call that was let through; null: an answer, or a failure that was the request's own. */
  heard(model: string, passage: Passage, failure: ModelFailure | null): Promise<void>;
}
