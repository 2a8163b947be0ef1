/** Measures how long due activities have waited without a claim. A worker uses it to detect that it is stalled. */
import type { Database } from "../database/database.ts";
import { queryNamed } from "../database/query-database.ts";
import { inlineQueue } from "./inline-activity.ts";
import { ofOpenRun } from "./lost-jobs.ts";

/**
 * Checks the oldest activities that have rows, and a sample of those on their runs: reading every open run would cost too much. Queued runs
 * have no due activities. Finished activities are never read, whatever their number. A leftover row of a run that has ended or was deleted
 * is not due.
 */
const text = `
with rows as (
  select greatest(coalesce(a.ready_at, a.created_at), a.not_before) as since from activities a ${ofOpenRun}
  where a.state = 'ready' and a.enqueued_at < 'infinity' and a.queue = any($1) and (a.not_before is null or a.not_before < clock_timestamp())
  order by a.enqueued_at limit 100
), open_runs as materialized (
  select inline, started_at from runs
  where status = 'doing' and inline is not null and enqueued_at < 'infinity' and '${inlineQueue}' = any($1) limit 1000
), inline as (
  select greatest(to_timestamp(l.at / 1000), r.started_at) as since from open_runs r cross join lateral json_to_recordset(r.inline) as l(at float8)
)
select coalesce(max(extract(epoch from clock_timestamp() - since)), 0)::float8 * 1000 as ms
from (select since from rows union all select since from inline) due`;

/**
 * How long the oldest activity of these queues has been ready and due, in ms. 0: none. A worker that receives no job meanwhile is stalled.
 */
export async function oldestDue(database: Database, queues: readonly string[]): Promise<number> {
  const rows = await queryNamed<{ ms: number }>(database, "Looking for due activities", "oldest-due", text, [queues]);
  return Math.max(0, Math.round(rows[0]?.ms ?? 0));
}
