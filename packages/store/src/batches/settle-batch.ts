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

export async function isOver(client: Client, id: string): Promise<boolean> {
  const { rows } = await client.query(
    `select 1 from ${batchesThatStand} where b.id = $1 and stand.ended_at is not null`,
    [id],
  );
  return rows.length > 0;
}

/**
 * Call this after a change to a batch that was not over. `empty`: a batch without submissions is over, too. If a run ended since the
 * transaction began, its end may have been reported as the batch's end. Then that time stays, and the end is not reported twice.
 */
export async function noteEnd(client: Client, id: string, { empty }: { readonly empty: boolean }): Promise<void> {
  await client.query(
    `update batches set settled_at = coalesce(
         (select max(r.ended_at) from batch_runs t join runs r on r.id = t.run_id
          where t.batch_id = $1 and r.ended_at >= transaction_timestamp()),
         clock_timestamp())
     where id = $1 and exists (
       select 1 from ${batchesThatStand} where b.id = $1
         and (stand.ended_at is not null or ($2 and (stand.counts ->> 'works')::integer = 0)))`,
    [id, empty],
  );
}
