/**
 * Deletes ended root runs with everything that belongs to them, in one transaction. `settleAbandoned` handles their reservations in a
 * batch's budget, and `deleteOrphans` the blobs they named. A grading attempt whose run is deleted records this, so its submission shows
 * it. All rows are found by key (the hot pool): with free planning, Postgres would read whole tables for each hundred runs.
 *
 * E1  The first statement locks the rows of the root runs, and the last one deletes. So the last one sees everything that other
 *     transactions wrote while they held such a lock (a reservation in reserve.ts, a reply in calls.ts, a fork in fork-run.ts). A
 *     transaction that waits for the lock finds no run.
 * E2  The second statement locks the open lines of the account: no transaction ends one of them during the deletion. They stay for the
 *     requests that are on their way; all other lines become totals (deleted-usage.ts).
 *
 * On kill -9 between the statements, nothing was deleted.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { addingToTotals } from "../money/deleted-usage.ts";
import { noteHappenings } from "../webhooks/note-happenings.ts";

const deletingText = `
with roots as materialized (
  select id, tenant, definition_hash, ended_at from runs where id = any($1)
), tree as materialized (
  select id, tenant from roots union all select id, tenant from runs where root_id in (select id from roots) and root_id <> id
), d1 as (delete from activities where run_id in (select id from tree)
), d2 as (delete from variables where run_id in (select id from tree)
), d3 as (delete from events where run_id in (select id from tree)
), d4 as (delete from messages where run_id in (select id from tree)
), d5 as (delete from threads where run_id in (select id from tree)
), d6 as (delete from asks where run_id in (select id from tree)
), d7 as (delete from calls where root_id in (select id from roots)
), d8 as (delete from reservations where budget_id in (select id from tree)
), d9 as (delete from budgets where (tenant, id) in (select tenant, id from tree)
), d19 as (delete from step_pools where run_id in (select id from tree)
), d16 as (delete from spendings where (tenant, budget_id) in (select tenant, id from tree)
), d15 as (delete from idempotency_keys where run_id in (select id from roots)
), d11 as (delete from charges c using roots r where c.root_id = r.id and c.state <> 'open' returning c.*, r.definition_hash
), totals as (${addingToTotals("d11")}
), m2 as (update charges c set run_id = '', root_id = '', deleted_definition = r.definition_hash
  from roots r where c.root_id = r.id and c.state = 'open'
), d12 as (delete from checkpoint_parts where session_id in (select id from roots)
), d13 as (delete from checkpoints where session_id in (select id from roots)
), d14 as (delete from session_marks where session_id in (select id from roots)
), d17 as (delete from tool_calls where root_id in (select id from roots)
), d18 as (delete from passages where root_id in (select id from roots)
), m1 as (update batch_runs t set deleted_at = clock_timestamp(), end_seen_at = r.ended_at from roots r where t.run_id = r.id
), d10 as (delete from runs where id in (select id from tree))
select 1`;

// Do not use clock_timestamp(): it may differ for each row, so no index can be used with it.
const oldText = `select id from runs where ended_at < statement_timestamp() - $1::float8 * interval '1 millisecond' and root_id = id
    and not exists (select 1 from batch_runs t where t.run_id = runs.id)
  order by ended_at limit $2 for update skip locked`;
const namedText =
  "select id from runs where id = any($1) and root_id = id and ended_at is not null order by id for update";

/** See E2. */
const lockOpenText = "select 1 from charges where root_id = any($1) and state = 'open' order by id for update";

/** See E1. `locking` selects ended root runs and locks them. Returns the number of deleted runs. */
async function deleteLocked(
  database: Database,
  doing: string,
  locking: { readonly name: string; readonly text: string; readonly values: unknown[] },
): Promise<number> {
  try {
    return await inTransaction(database.hot, async (client) => {
      const { rows } = await client.query<{ id: string }>(locking);
      if (rows.length === 0) return 0;
      const values = [rows.map(({ id }) => id)];
      await client.query({ name: "lock-open-charges", text: lockOpenText, values });
      await client.query({ name: "delete-runs", text: deletingText, values });
      return rows.length;
    });
  } catch (error) {
    throw translate(error, doing);
  }
}

const named = (ids: readonly string[]) => ({ name: "lock-runs", text: namedText, values: [ids] });

/** For a batch that is deleted as a whole. */
export async function deleteRuns(database: Database, ids: readonly string[]): Promise<void> {
  await deleteLocked(database, "Deleting runs", named(ids));
}

/**
 * Deletes runs that ended at least `olderThanMs` ago. Runs of a batch are deleted with the batch (delete-batch.ts). Returns the number;
 * call it again until it is less than `limit`.
 */
export async function deleteOldRuns(database: Database, olderThanMs: number, limit = 100): Promise<number> {
  const locking = { name: "lock-old-runs", text: oldText, values: [olderThanMs, limit] };
  return await deleteLocked(database, "Deleting old runs", locking);
}

/** Deletes one root run at a person's request. Returns whether it existed. An open run, or one that another run called, is refused. */
export async function deleteRun(database: Database, id: string): Promise<boolean> {
  // Webhooks must report its end, which may be younger than the supervisor's last cycle.
  await noteHappenings(database);
  if ((await deleteLocked(database, "Deleting a run", named([id]))) > 0) return true;
  const left = await queryDatabase<{ root_id: string }>(
    database,
    "Deleting a run",
    "select root_id from runs where id = $1",
    [id],
  );
  const [run] = left;
  if (run === undefined) return false;
  if (run.root_id !== id)
    throw new StoreError(
      "STORE_RUN_CALLED",
      `Run ${id} was called by another run and is deleted with it: ${run.root_id}.`,
    );
  throw new StoreError("STORE_RUN_OPEN", `Run ${id} has not ended.`);
}
