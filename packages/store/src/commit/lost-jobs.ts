/**
 * Finds activities whose job may be lost, postpones the next check, or enqueues them again. Activities on their run's row share one count
 * of enqueues and one enqueue time. kill -9 between raising the count and the enqueue: the next search finds the activity again.
 */
import type { JobSpec } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { type JobRow, jobColumns, toJobSpec } from "./ready-jobs.ts";

export interface QuietActivity extends JobSpec {
  /** How long ago its lease expired. null: it has no lease. */
  readonly leaseOverMs: number | null;
}

/** Columns of activities `a` and their runs `r`. */
export const rowColumns = jobColumns.replaceAll("a.parent_", "r.parent_");
/** Columns of inline activities `l` and their runs `r`. */
export const inlineColumns = `'control' as queue, r.id as run_id, l.id, r.epoch, l.attempt, r.enqueues, r.parent_job, r.parent_activity_id,
  0::float8 as delay_ms`;
export const inlineOfRun = "json_to_recordset(r.inline) as l(id bigint, attempt integer)";
/**
 * The open run `r` of an activity `a`. With `lateral` and `offset 0`, Postgres looks up the run of each possibly lost job. Without them, it
 * would search each open run for possibly lost jobs.
 */
export const ofOpenRun = `cross join lateral (
  select r.* from runs r where r.id = a.run_id and r.status || '' = 'doing' and r.epoch = a.epoch offset 0) r`;
// The time at which the statement began is constant, so Postgres stops reading an index of times at that point.
const enqueuedBefore = "statement_timestamp() - $1::integer * interval '1 millisecond'";

/**
 * Activities that are ready, or whose lease has expired, and that were not enqueued for `quietMs`. Ask the queue which of their jobs it
 * still has.
 */
export async function quietActivities(
  database: Database,
  quietMs: number,
  limit = 500,
): Promise<readonly QuietActivity[]> {
  const query = (text: string) =>
    queryDatabase<JobRow & { readonly lease_over_ms: number | null }>(database, "Looking for quiet activities", text, [
      quietMs,
      limit,
    ]);
  const [rows, standing] = await Promise.all([
    query(`
      (select ${rowColumns}, null::float8 as lease_over_ms from activities a ${ofOpenRun}
       where a.state = 'ready' and a.enqueued_at < ${enqueuedBefore}
       order by a.enqueued_at limit $2)
      union all
      (select ${rowColumns}, extract(epoch from clock_timestamp() - a.lease_until)::float8 * 1000 as lease_over_ms
       from activities a ${ofOpenRun}
       where a.state = 'claimed' and a.lease_until < clock_timestamp() and a.enqueued_at < ${enqueuedBefore}
       order by a.lease_until limit $2)`),
    // This reads all open runs: an index on the last enqueue time would have to be written with every step. The oldest activity counts: a
    // run that continues in one branch may have lost the job of another. The runs are selected before their inline activities are read.
    query(`
      select ${inlineColumns}, null::float8 as lease_over_ms
      from (
        select r.* from runs r
        where r.status = 'doing' and r.inline is not null
          and greatest(r.enqueued_at, to_timestamp((r.inline -> 0 ->> 'at')::float8 / 1000)) < ${enqueuedBefore}
        order by r.enqueued_at limit $2
      ) r cross join lateral ${inlineOfRun}`),
  ]);
  return [...rows, ...standing].map((row) => ({ ...toJobSpec(row), leaseOverMs: row.lease_over_ms }));
}

type Enqueued = Pick<JobSpec, "activityId" | "runId" | "enqueues">;

const listed = `listed as materialized (
  select x.*, (select true from activities a where a.id = x.id) is not null as has_row
  from json_to_recordset($1::json) as x(id bigint, run text, enqueues integer)
)`;

const toList = (activities: readonly Enqueued[]) =>
  JSON.stringify(activities.map(({ activityId: id, runId: run, enqueues }) => ({ id, run, enqueues })));

/**
 * The queue still has these jobs: check them again only after another interval. A row that is locked is changing and is left out. So this
 * statement never waits for a claim or a commit, which lock their rows in another order.
 */
export async function leaveQuiet(database: Database, quiet: readonly Enqueued[]): Promise<void> {
  if (quiet.length === 0) return;
  await queryDatabase(
    database,
    "Leaving activities quiet",
    `with ${listed}, left_rows as (
       update activities set enqueued_at = clock_timestamp()
       where id in (select a.id from activities a
         where a.id in (select id from listed where has_row) and a.state in ('ready', 'claimed')
         for no key update skip locked)
     ) update runs set enqueued_at = clock_timestamp()
     where id in (select r.id from runs r
       where r.id in (select run from listed where not has_row) and r.inline is not null
       for no key update skip locked)`,
    [toList(quiet)],
  );
}

/**
 * The queue has lost these jobs: enqueue them again, under a new job id. This touches only activities that have not changed since they were
 * found. Other activities on the same run's row also get the new count and may be enqueued twice, which is harmless. A locked row is left
 * for the next search, as in `leaveQuiet`.
 */
export async function enqueueAgain(database: Database, lost: readonly Enqueued[]): Promise<readonly JobSpec[]> {
  if (lost.length === 0) return [];
  const rows = await queryDatabase<JobRow>(
    database,
    "Enqueuing again",
    `with ${listed}, free_rows as materialized (
       select a.id from listed x join activities a on a.id = x.id and a.enqueues = x.enqueues
       where x.has_row and (a.state = 'ready' or (a.state = 'claimed' and a.lease_until < clock_timestamp()))
       for no key update of a skip locked
     ), enqueued_rows as (
       update activities a set enqueues = a.enqueues + 1, enqueued_at = clock_timestamp()
       from free_rows f, runs r
       where a.id = f.id and r.id = a.run_id
       returning ${rowColumns}
     ), free_runs as materialized (
       select r.id from runs r
       where (r.id, r.enqueues) in (select run, enqueues from listed where not has_row) and r.status = 'doing' and r.inline is not null
       for no key update skip locked
     ), enqueued_runs as (
       update runs r set enqueues = r.enqueues + 1, enqueued_at = clock_timestamp()
       from free_runs f where r.id = f.id
       returning r.*
     )
     select * from enqueued_rows
     union all
     select ${inlineColumns} from enqueued_runs r cross join lateral ${inlineOfRun} where l.id in (select id from listed)`,
    [toList(lost)],
  );
  return rows.map(toJobSpec);
}
