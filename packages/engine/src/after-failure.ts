/**
 * Decides what happens after an activity fails. step.ts carries the decision out.
 *
 * The failure's `NextStep` gives one of three results: the activity is retried; it waits until trouble of the other side (429, 5xx, a
 * missing key …) is over; or the failure takes effect (the fail edge, ON_FAILED, the end of the run).
 * If kill -9 interrupted the activity (`unknown`), it is retried only where repeating is safe (work-kinds.ts).
 */
import type { ActivityFailed } from "./event.ts";
import { type Failure, failure } from "./failure.ts";
import type { Node, Program } from "./program.ts";
import { defaultRetry, retryAt, unparkAt } from "./retry.ts";
import type { Active, Parked } from "./state.ts";
import { isSafeToRepeat } from "./work-kinds.ts";

export type AfterFailure =
  /** Repeat the same work; `notBefore` null means at once. */
  | { readonly do: "repeat"; readonly active: Active; readonly notBefore: number | null }
  /** Wait until a person resumes the run. */
  | { readonly do: "hold"; readonly parked: Parked }
  | { readonly do: "settle"; readonly failure: Failure };

/** `node` is undefined if the program no longer contains it. */
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
  // The endpoint has answered, even if the reply was empty, so the run no longer waits for it.
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

/** `tried`: the number of attempts; null means one. */
function told({ ref }: Active, { next, failure: why }: ActivityFailed, tried: number | null): Failure {
  if (next === "unknown") return failure("OUTCOME_UNKNOWN", `'${ref.node}' was interrupted: ${why.message}`);
  return tried === null ? why : { ...why, message: `${why.message} (${tried} attempts)` };
}

/** The budget that many runs share is used up. This run did not cause that, and its program cannot react to it. */
const neverAnEdge: ReadonlySet<string> = new Set(["BATCH_BUDGET_SPENT", "BATCH_BUDGET_RESERVED"]);

/** Each wait is longer than the last. When the patience is over, the activity waits until a person resumes the run. */
function park(patienceMs: number, active: Active, event: ActivityFailed): AfterFailure {
  const since = active.parked?.since ?? event.at;
  const tries = (active.parked?.tries ?? 0) + 1;
  const parked: Parked = { since, tries, failure: event.failure, trouble: event.trouble ?? null, held: false };
  const patientUntil = since + patienceMs;
  if (event.next === "hold" || event.at >= patientUntil) return { do: "hold", parked };
  const again = unparkAt(tries, event.at, event.retryAfterMs, event.seed);
  return { do: "repeat", active: { ...active, parked }, notBefore: Math.min(again, patientUntil) };
}
