/**
 * What follows from an attempt to tell a webhook something.
 *
 * S1  Any answer of 200 to 299 is a delivery. A redirect is none: what is sent goes to the address that was given, and to no other.
 * S2  410 (Gone) and an address that the rules refuse end it at once. Everything else is tried again, ten times over two days.
 */
import type { Settled } from "@markmill/store/machine";

export type Attempt =
  | { readonly is: "answered"; readonly status: number }
  | { readonly is: "refused" }
  | { readonly is: "unanswered" };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** S2: waits after the first attempt, the second, and so on. */
const waits = [
  ...[5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute],
  ...[2 * hour, 6 * hour, 12 * hour, 24 * hour],
];

/** `before`: attempts that were made before this one. */
export function settleWebhook(attempt: Attempt, before: number): Settled {
  if (attempt.is === "answered" && attempt.status >= 200 && attempt.status < 300) return { is: "delivered" };
  if (attempt.is === "refused" || (attempt.is === "answered" && attempt.status === 410)) return { is: "failed" };
  const afterMs = waits[before];
  return afterMs === undefined ? { is: "failed" } : { is: "again", afterMs };
}
