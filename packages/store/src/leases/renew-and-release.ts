/** Renews leases of activities while they are performed, and releases those that a worker does not continue. */
import type { Database } from "../database/database.ts";
import { translate } from "../database/store-error.ts";
import { type RenewedRow, renewText } from "./lease-statement.ts";

/**
 * Returns the activities that are still held, and whether each was renewed or is locked at this moment. The worker must give up the others.
 */
export async function renewLeases(
  database: Database,
  held: readonly { readonly id: number; readonly claim: number }[],
  leaseMs: number,
): Promise<ReadonlyMap<number, "renewed" | "locked">> {
  if (held.length === 0) return new Map();
  try {
    const { rows } = await database.hot.query<RenewedRow>({
      name: "renew-leases",
      text: renewText,
      values: [JSON.stringify(held.map(({ id, claim }) => ({ id, claim }))), leaseMs, null],
    });
    const kept = new Map<number, "renewed" | "locked">();
    for (const { id, renewed } of rows) {
      if (renewed || !kept.has(Number(id))) kept.set(Number(id), renewed ? "renewed" : "locked");
    }
    return kept;
  } catch (error) {
    throw translate(error, "Renewing leases");
  }
}

const releaseText = `
update activities set state = 'ready', lease_until = null, claimed_by = null,
  not_before = case when $2::integer > 0 then clock_timestamp() + $2::integer * interval '1 millisecond' else not_before end,
  enqueued_at = clock_timestamp() + $2::integer * interval '1 millisecond', ready_at = clock_timestamp()
from json_to_recordset($1::json) as x(id bigint, claim integer)
where activities.id = x.id and activities.claim = x.claim and activities.state = 'claimed'
returning activities.id`;

/**
 * Releases activities that have had no effect yet, to be performed after `afterMs`. The job is delayed and stays the activity's job: its
 * enqueue count stays, and the supervisor leaves it alone until it is due (L4). Returns the released ids.
 */
export async function releaseClaims(
  database: Database,
  held: readonly { readonly id: number; readonly claim: number }[],
  afterMs = 0,
): Promise<ReadonlySet<number>> {
  try {
    const { rows } = await database.calm.query<{ id: number }>(releaseText, [
      JSON.stringify(held.map(({ id, claim }) => ({ id, claim }))),
      Math.ceil(afterMs),
    ]);
    return new Set(rows.map((row) => row.id));
  } catch (error) {
    throw translate(error, "Releasing claims");
  }
}
