/**
 * What becomes of an activity that failed, by what its failure wants next (`NextStep`): it is tried again, waits for trouble of the other side
 * (429, 5xx, no key …) to be over, or its failure takes effect: the fail edge, ON_FAILED, the end. After kill -9 in the act (`unknown`) it is
 * tried again where that is safe (work-kinds.ts). Decided here, done in step.ts.
 */
import type { ActivityFailed } from "./event.ts";
import { type Failure, failure } from "./failure.ts";
import type { Node, Program } from "./program.ts";
import { defaultRetry, retryAt, unparkAt } from "./retry.ts";
import type { Active, Parked } from "./state.ts";
import { isSafeToRepeat } from "./work-kinds.ts";

export type AfterFailure =
  /** The same work once more; null: at once. */
  | { readonly do: "repeat"; readonly active: Active; readonly notBefore: number | null }
  /** It waits until the run is resumed. */
  | { readonly do: "hold"; readonly parked: Parked }
  | { readonly do: "settle"; readonly failure: Failure };

/** `node`: undefined where the program no longer has it. */
export function afterFailure(
  { trouble }: Program,
  patienceMs: number,
  node: Node | undefined,
  active: Active,
  event: ActivityFailed,
): AfterFailure {
  const policy = node?.retry ?? defaultRetry;
  const tried = active.retries + 1;
  const waits = event.next === "park" || event.next === "hold";
  if (waits && (trouble !== "edge" || neverAnEdge.has(event.failure.code))) return park(patienceMs, active, event);
  // An endpoint that answers, be it with nothing, is no longer waited for.
  const { parked: _answered, ...unparked } = active;
  const again = { ...(event.next === "retry" ? unparked : active), retries: tried };
  const passing = event.next === "retry" || event.next === "park";
  if (passing && tried < policy.attempts) {
    const notBefore = retryAt(policy, tried, event.at, event.retryAfterMs, event.seed);
    return { do: "repeat", active: again, notBefore };
  }
  if (event.next === "unknown" && (node === undefined || isSafeToRepeat(node)) && tried < policy.attempts) {
    return { do: "repeat", active: again, notBefore: null };
  }
  return { do: "settle", failure: told(active, event, passing ? tried : null) };
}

/** `tried`: how often; null: once. */
function told({ ref }: Active, { next, failure: why }: ActivityFailed, tried: number | null): Failure {
  if (next === "unknown") return failure("OUTCOME_UNKNOWN", `'${ref.node}' was interrupted: ${why.message}`);
  return tried === null ? why : { ...why, message: `${why.message} (${tried} attempts)` };
}

/** What many runs share was used up: no fault of this one, and nothing that its program could answer to. */
const neverAnEdge: ReadonlySet<string> = new Set(["BATCH_BUDGET_SPENT", "BATCH_BUDGET_RESERVED"]);

/** Longer each time, until patience is over; then for somebody who resumes the run. */
function park(patienceMs: number, active: Active, event: ActivityFailed): AfterFailure {
  const since = active.parked?.since ?? event.at;
  const tries = (active.parked?.tries ?? 0) + 1;
  const parked: Parked = { since, tries, failure: event.failure, trouble: event.trouble ?? null, held: false };
  const patientUntil = since + patienceMs;
  if (event.next === "hold" || event.at >= patientUntil) return { do: "hold", parked };
  const again = unparkAt(tries, event.at, event.retryAfterMs, event.seed);
  return { do: "repeat", active: { ...active, parked }, notBefore: Math.min(again, patientUntil) };
}
