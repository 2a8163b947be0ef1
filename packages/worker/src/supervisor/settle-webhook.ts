/**
 * Decides what follows from an attempt to deliver a webhook.
 *
 * S1  Any answer from 200 to 299 is a delivery. A redirect is not: a webhook is sent only to the configured address.
 * S2  410 (Gone) and an address that the rules refuse end the delivery at once. All other answers are retried: ten attempts over two days.
 */
import type { Settled } from "@markmill/store/machine";

export type Attempt =
  | { readonly is: "answered"; readonly status: number }
  | { readonly is: "refused" }
  | { readonly is: "unanswered" };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** S2: the wait after the first attempt, the second, and so on. */
const waits = [
  ...[5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute],
  ...[2 * hour, 6 * hour, 12 * hour, 24 * hour],
];

/** `before`: the number of earlier attempts. */
export function settleWebhook(attempt: Attempt, before: number): Settled {
  if (attempt.is === "answered" && attempt.status >= 200 && attempt.status < 300) return { is: "delivered" };
  if (attempt.is === "refused" || (attempt.is === "answered" && attempt.status === 410)) return { is: "failed" };
  const afterMs = waits[before];
  return afterMs === undefined ? { is: "failed" } : { is: "again", afterMs };
}
