/**
 * Deletes a batch with all its data: students, submissions, attempts, grade events, and its runs with the data they named. After that, no
 * text of a model or student about a person remains. The supervisor deletes blobs that are no longer named (delete-orphans.ts).
 *
 * D1  The batch is cancelled first, so no new run starts. A run may be created at this very moment, so its attempt is blocked. The deletion
 *     takes its idempotency key, without which the run cannot be created. The key outlives the batch, because a supervisor may be slow; the
 *     orphans' duty deletes it by its age (delete-orphans.ts).
 * D2  Then its runs are deleted, some at a time, including forks and restarts of them. The rest is deleted in one transaction.
 * D4  That transaction locks the batch's budget and then looks for runs again. A fork or restart of a run of the batch locks the same row
 *     when the new run is written (fork-run.ts, restart-run.ts). So either the deletion finds the new run and repeats D2, or the fork or
 *     restart finds no budget and is refused.
 * D3  From D1 on, no grade event is accepted: appending one locks the row of the batch and checks `deleting_at` (grade-events.ts, E3). If
 *     the deletion is refused, grading is possible again.
 *
 * kill -9 at any line: the batch still exists, cancelled, and deleting it again does the rest. Until then grade events are refused;
 * resuming the batch allows them again.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { deleteRuns } from "../runs/delete-runs.ts";
import { noteHappenings } from "../webhooks/note-happenings.ts";
import { tryKey } from "./try-key.ts";

const runsTogether = 50;

/**
 * Run `r` is a fork or restart of a run of the batch. It has the batch's label, but users can write labels. So it must also pay from the
 * batch's budget, name the batch in its options, or have a run of the batch as its origin. Users cannot write these three.
 */
const madeFrom = (r: string, batch: string) => `(
  ${r}.labels @> jsonb_build_object('batch', ${batch}) and ${r}.labels <> '{}' and (
    ${batch} = any(${r}.budgets) or ${r}.options -> 'grading' ->> 'batch' = ${batch}
    or ${r}.forked_from in (select t.run_id from batch_runs t where t.batch_id = ${batch})))`;

/** Runs of attempts, and runs that were created from them. */
const runsOf = `select r.id, r.ended_at from runs r
  where r.tenant = $1 and r.root_id = r.id and (
    r.id in (select t.run_id from batch_runs t where t.batch_id = $2) or ${madeFrom("r", "$2::text")})`;

const doing = "Deleting a batch";

/** See D1. */
const barText = `insert into idempotency_keys (tenant, key, request_hash, run_id)
  select $1, ${tryKey.sql("t.run_id")}, null, t.run_id from batch_runs t
  where t.batch_id = $2 and not exists (select 1 from runs r where r.id = t.run_id) order by t.id
  on conflict (tenant, key) do nothing`;

export async function deleteBatch(database: Database, tenant: string, id: string): Promise<boolean> {
  const open = await queryDatabase<{ open: number }>(
    database,
    doing,
    `select (select count(*)::integer from (${runsOf}) r where r.ended_at is null) as open from batches where tenant = $1 and id = $2`,
    [tenant, id],
  );
  if (open[0] === undefined) return false;
  if (open[0].open > 0) {
    throw new StoreError("STORE_RUN_OPEN", `${open[0].open} runs of batch ${id} have not ended.`);
  }
  // Webhooks must report ends that may be younger than the supervisor's last cycle.
  await noteHappenings(database);
  // See D1.
  await queryDatabase(
    database,
    doing,
    `update batches set state = 'cancelled', paused_by = null, reason = 'it is being deleted', deleting_at = clock_timestamp()
     where tenant = $1 and id = $2`,
    [tenant, id],
  );
  await queryDatabase(database, doing, barText, [tenant, id]);
  do await deleteItsRuns(database, tenant, id);
  while (!(await deleteTheRest(database, tenant, id)));
  return true;
}

/** See D2. */
async function deleteItsRuns(database: Database, tenant: string, id: string): Promise<void> {
  for (;;) {
    const rows = await queryDatabase<{ id: string; ended_at: Date | null }>(database, doing, `${runsOf} limit $3`, [
      ...[tenant, id, runsTogether],
    ]);
    if (rows.length === 0) return;
    if (rows.some(({ ended_at }) => ended_at === null)) {
      await queryDatabase(database, doing, "update batches set deleting_at = null where tenant = $1 and id = $2", [
        ...[tenant, id],
      ]);
      throw new StoreError("STORE_RUN_OPEN", `A run of batch ${id} has just started.`);
    }
    await deleteRuns(
      database,
      rows.map((row) => row.id),
    );
  }
}

/** See D4. Returns false if a user forked or restarted a run of the batch in the meantime. */
async function deleteTheRest(database: Database, tenant: string, id: string): Promise<boolean> {
  try {
    return await inTransaction(database.calm, async (client) => {
      // Lock in the same order as saving a batch and setting its cap.
      await client.query("select 1 from batches where tenant = $1 and id = $2 for update", [tenant, id]);
      await client.query("select 1 from budgets where tenant = $1 and id = $2 for update", [tenant, id]);
      // Include attempts whose runs were deleted in D2 with their keys: a slow supervisor would create those runs again.
      await client.query(barText, [tenant, id]);
      const { rows } = await client.query(`${runsOf} limit 1`, [tenant, id]);
      if (rows.length > 0) return false;
      // Delete the batch first: the events of an existing batch cannot be deleted.
      await client.query("delete from batches where tenant = $1 and id = $2", [tenant, id]);
      for (const table of ["grade_events", "batch_rubrics", "batch_runs", "batch_works", "batch_members"]) {
        await client.query(`delete from ${table} where batch_id = $1`, [id]);
      }
      await client.query("delete from budgets where tenant = $1 and id = $2", [tenant, id]);
      await client.query("delete from spendings where tenant = $1 and budget_id = $2", [tenant, id]);
      return true;
    });
  } catch (error) {
    throw translate(error, doing);
  }
}

/**
 * Deletes batches that were created, and whose last run ended, this long ago. Each is deleted as a whole, so that no class loses single
 * grades. A batch with an open run that was created from one of its runs is left for later. A batch that cannot be deleted does not block
 * the others. Returns the number of deleted batches.
 */
export async function deleteOldBatches(
  database: Database,
  olderThanMs: number,
  limit = 10,
  onSkipped: (error: StoreError, batch: string) => void = rethrow,
): Promise<number> {
  const old = await queryDatabase<{ tenant: string; id: string }>(
    database,
    "Looking for old batches",
    `select b.tenant, b.id from batches b
     where b.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
       and not exists (select 1 from batch_runs t where t.batch_id = b.id and (
         t.created_at >= clock_timestamp() - $1::float8 * interval '1 millisecond'
         or exists (select 1 from runs r where r.id = t.run_id
           and (r.ended_at is null or r.ended_at >= clock_timestamp() - $1::float8 * interval '1 millisecond'))))
       and not exists (select 1 from runs r where r.tenant = b.tenant and r.root_id = r.id and r.ended_at is null
         and ${madeFrom("r", "b.id")})
     order by b.created_at limit $2`,
    [olderThanMs, limit],
  );
  let deleted = 0;
  for (const { tenant, id } of old) {
    try {
      if (await deleteBatch(database, tenant, id)) deleted += 1;
    } catch (error) {
      const known = translate(error, "Deleting a batch");
      if (known.code === "STORE_UNREACHABLE") throw known;
      onSkipped(known, id);
    }
  }
  return deleted;
}

const rethrow = (error: StoreError) => {
  throw error;
};
