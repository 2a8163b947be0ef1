/**
 * Deletes root runs that have ended, with everything that hangs on them, in one statement. What they had reserved of a batch's budget is
 * left to `settleAbandoned`, the blobs they named to `deleteOrphans`. A try whose run goes says so: its work shows that it was deleted.
 * Everything is found by its key (`queryHot`): planned freely, all that there is would be looked through for each hundred runs.
 */

import type { Database } from "./database.ts";
import { queryDatabase, queryHot } from "./query-database.ts";
import { StoreError } from "./store-error.ts";

/** `roots`: selects the ids of ended root runs, and locks them. */
const deleting = (roots: string) => `
with roots as materialized (
  ${roots}
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
), d11 as (delete from charges where root_id in (select id from roots)
), d12 as (delete from checkpoint_parts where session_id in (select id from roots)
), d13 as (delete from checkpoints where session_id in (select id from roots)
), d14 as (delete from session_marks where session_id in (select id from roots)
), d17 as (delete from tool_calls where root_id in (select id from roots)
), d18 as (delete from passages where root_id in (select id from roots)
), m1 as (update batch_runs set deleted_at = clock_timestamp(), end_seen_at = coalesce(end_seen_at, clock_timestamp())
  where run_id in (select id from roots)
), d10 as (delete from runs where id in (select id from tree))
select count(*)::integer as deleted from roots`;

// Not by clock_timestamp(), which may be another one for each row: no index can be asked by it.
const oldText =
  deleting(`select id, tenant from runs where ended_at < statement_timestamp() - $1::float8 * interval '1 millisecond' and root_id = id
    and not exists (select 1 from batch_runs t where t.run_id = runs.id)
  order by ended_at limit $2 for update skip locked`);
const oneText = deleting(
  "select id, tenant from runs where id = $1 and root_id = id and ended_at is not null for update",
);

const severalText = deleting(
  "select id, tenant from runs where id = any($1) and root_id = id and ended_at is not null for update",
);

/** Of a batch that goes as a whole. */
export async function deleteRuns(database: Database, ids: readonly string[]): Promise<void> {
  await queryHot(database, "Deleting runs", "delete-runs", severalText, [ids]);
}

/** Those that ended before; those of a batch go with it (delete-batch.ts). Returns how many; call it again until it is less than `limit`. */
export async function deleteOldRuns(database: Database, olderThanMs: number, limit = 100): Promise<number> {
  const values = [olderThanMs, limit];
  const rows = await queryHot<{ deleted: number }>(database, "Deleting old runs", "delete-old-runs", oldText, values);
  return rows[0]?.deleted ?? 0;
}

/** One root run, at a person's wish. Returns whether there was one. A run that goes on, or that another one called, is refused. */
export async function deleteRun(database: Database, id: string): Promise<boolean> {
  const rows = await queryHot<{ deleted: number }>(database, "Deleting a run", "delete-run", oneText, [id]);
  if ((rows[0]?.deleted ?? 0) > 0) return true;
  const left = await queryDatabase<{ root_id: string }>(
    database,
    "Deleting a run",
    "select root_id from runs where id = $1",
    [id],
  );
  const [run] = left;
  if (run === undefined) return false;
  if (run.root_id !== id)
    throw new StoreError("STORE_RUN_CALLED", `Run ${id} was called by another one and goes with it: ${run.root_id}.`);
  throw new StoreError("STORE_RUN_OPEN", `Run ${id} has not ended.`);
}
