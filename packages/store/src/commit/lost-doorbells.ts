/**
 * Activities whose doorbell may be lost: found, left for another while, or rung again, wherever they stand. Those on their run's row have
 * one count of rings and one time of ringing in common. kill -9 after a count was raised and before the ring: it is found quiet again.
 */
import type { Doorbell } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { type RingRow, ringColumns, toRing } from "./ready-rings.ts";

export interface QuietActivity extends Doorbell {
  /** For how long its lease has been over; null: nobody holds it. */
  readonly leaseOverMs: number | null;
}

/** Of activities `a` and their runs `r`. */
export const rowColumns = ringColumns.replaceAll("a.parent_", "r.parent_");
/** Of light activities `l` and their runs `r`. */
export const lightColumns = `'control' as queue, r.id as run_id, l.id, r.epoch, l.attempt, r.rings, r.parent_job, r.parent_activity_id,
  0::float8 as delay_ms`;
export const lightOfRun = "json_to_recordset(r.light) as l(id bigint, attempt integer)";
/** The open run `r` of an activity `a`. Lateral and `offset 0`: the runs of what is quiet are looked up, and not what is quiet in each open run. */
export const ofOpenRun = `cross join lateral (
  select r.* from runs r where r.id = a.run_id and r.status || '' = 'doing' and r.epoch = a.epoch offset 0) r`;
// Of the statement: an index of times is then read no further.
const rungBefore = "statement_timestamp() - $1::integer * interval '1 millisecond'";

/** Activities that are ready, or whose lease is over, and were not rung for `quietMs`. Ask the queue which of them it still has. */
export async function quietActivities(
  database: Database,
  quietMs: number,
  limit = 500,
): Promise<readonly QuietActivity[]> {
  const query = (text: string) =>
    queryDatabase<RingRow & { readonly lease_over_ms: number | null }>(database, "Looking for quiet activities", text, [
      quietMs,
      limit,
    ]);
  const [rows, standing] = await Promise.all([
    query(`
      (select ${rowColumns}, null::float8 as lease_over_ms from activities a ${ofOpenRun}
       where a.state = 'ready' and a.rung_at < ${rungBefore}
       order by a.rung_at limit $2)
      union all
      (select ${rowColumns}, extract(epoch from clock_timestamp() - a.lease_until)::float8 * 1000 as lease_over_ms
       from activities a ${ofOpenRun}
       where a.state = 'claimed' and a.lease_until < clock_timestamp() and a.rung_at < ${rungBefore}
       order by a.lease_until limit $2)`),
    // All open runs are looked through: an index by the time of the last ring would have to be written with every step. The oldest activity
    // counts: a run that goes on in one branch may have lost the doorbell of another. Runs are chosen before what stands on them is read.
    query(`
      select ${lightColumns}, null::float8 as lease_over_ms
      from (
        select r.* from runs r
        where r.status = 'doing' and r.light is not null
          and greatest(r.rung_at, to_timestamp((r.light -> 0 ->> 'at')::float8 / 1000)) < ${rungBefore}
        order by r.rung_at limit $2
      ) r cross join lateral ${lightOfRun}`),
  ]);
  return [...rows, ...standing].map((row) => ({ ...toRing(row), leaseOverMs: row.lease_over_ms }));
}

type Rung = Pick<Doorbell, "activityId" | "runId" | "rings">;

const listed = `listed as materialized (
  select x.*, (select true from activities a where a.id = x.id) is not null as has_row
  from json_to_recordset($1::json) as x(id bigint, run text, rings integer)
)`;

const toList = (activities: readonly Rung[]) =>
  JSON.stringify(activities.map(({ activityId: id, runId: run, rings }) => ({ id, run, rings })));

/**
 * Those the queue still has: they are quiet only after another while. A row that somebody has locked is changing: it is left out. So this never waits for a
 * claim or a commit, which lock their rows in another order.
 */
export async function leaveQuiet(database: Database, quiet: readonly Rung[]): Promise<void> {
  if (quiet.length === 0) return;
  await queryDatabase(
    database,
    "Leaving activities quiet",
    `with ${listed}, left_rows as (
       update activities set rung_at = clock_timestamp()
       where id in (select a.id from activities a
         where a.id in (select id from listed where has_row) and a.state in ('ready', 'claimed')
         for no key update skip locked)
     ) update runs set rung_at = clock_timestamp()
     where id in (select r.id from runs r
       where r.id in (select run from listed where not has_row) and r.light is not null
       for no key update skip locked)`,
    [toList(quiet)],
  );
}

/**
 * Those the queue has lost get a new ring, under a new job id. Only what is still as it was seen. Others on the same run's row, which were not
 * lost, have the new count as well and may be rung twice, which is harmless. A locked row is left for the next look, as in `leaveQuiet`.
 */
export async function ringAgain(database: Database, lost: readonly Rung[]): Promise<readonly Doorbell[]> {
  if (lost.length === 0) return [];
  const rows = await queryDatabase<RingRow>(
    database,
    "Ringing again",
    `with ${listed}, free_rows as materialized (
       select a.id from listed x join activities a on a.id = x.id and a.rings = x.rings
       where x.has_row and (a.state = 'ready' or (a.state = 'claimed' and a.lease_until < clock_timestamp()))
       for no key update of a skip locked
     ), rung_rows as (
       update activities a set rings = a.rings + 1, rung_at = clock_timestamp()
       from free_rows f, runs r
       where a.id = f.id and r.id = a.run_id
       returning ${rowColumns}
     ), free_runs as materialized (
       select r.id from runs r
       where (r.id, r.rings) in (select run, rings from listed where not has_row) and r.status = 'doing' and r.light is not null
       for no key update skip locked
     ), rung_runs as (
       update runs r set rings = r.rings + 1, rung_at = clock_timestamp()
       from free_runs f where r.id = f.id
       returning r.*
     )
     select * from rung_rows
     union all
     select ${lightColumns} from rung_runs r cross join lateral ${lightOfRun} where l.id in (select id from listed)`,
    [toList(lost)],
  );
  return rows.map(toRing);
}
