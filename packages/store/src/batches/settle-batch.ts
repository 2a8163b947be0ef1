/**
 * Records the end of a batch that ends without the end of a run. There are four cases: its last waiting submission is withdrawn or refused;
 * nothing in it can be graded; it is cancelled before anything ran; it is saved as a whole without submissions. The time is written to
 * `settled_at`, in the transaction that changes the batch and under the lock of its row. So a process that waits for the batch is notified,
 * as it is for the end of a run.
 *
 * A batch that was over before the change keeps its time.
 */

import type { PoolClient } from "pg";
import { batchesThatStand } from "./read-batches.ts";

type Client = Pick<PoolClient, "query">;

/** A batch before a change, under the lock of its row. */
export interface Before {
  readonly over: boolean;
  /** Tries whose runs have not ended: their ends may come beside the change. */
  readonly underWay: readonly string[];
}

export async function lookBefore(client: Client, id: string): Promise<Before> {
  const { rows } = await client.query<Before>(
    `select stand.ended_at is not null as over, array(
       select t.run_id from batch_runs t left join runs r on r.id = t.run_id
       where t.batch_id = b.id and t.admitted_at is not null and t.end_seen_at is null and r.ended_at is null) as "underWay"
     from ${batchesThatStand} where b.id = $1`,
    [id],
  );
  return rows[0] ?? { over: false, underWay: [] };
}

/**
 * Call this after a change to a batch that was not over. `empty`: a batch without submissions is over, too. If a run ended since the
 * transaction began, its end may have been reported as the batch's end. Then that time stays, and the end is not reported twice.
 */
export async function noteEnd(
  client: Client,
  id: string,
  { over, underWay }: Before,
  { empty }: { readonly empty: boolean },
): Promise<void> {
  if (over) return;
  await client.query(
    `update batches set settled_at = coalesce(
         (select max(r.ended_at) from runs r where r.id = any($3::text[])), clock_timestamp())
     where id = $1 and exists (
       select 1 from ${batchesThatStand} where b.id = $1
         and (stand.ended_at is not null or ($2 and (stand.counts ->> 'works')::integer = 0)))`,
    [id, empty, underWay],
  );
}
