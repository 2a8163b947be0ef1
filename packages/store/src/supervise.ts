/**
 * What the supervisor looks for, all by the database's clock, all in bounded sets, all harmless when done twice: what is ready and
 * quiet, leases that ended, deadlines, questions nobody answered, and runs whose time of keeping is over.
 */
import { applyEvent, type Outside } from "./apply-event.ts";
import { askDatabase } from "./ask-database.ts";
import { expireAsk } from "./asks.ts";
import type { Database } from "./database.ts";
import { type RingRow, ringColumns, toRing } from "./ready-rings.ts";
import type { Ring } from "./run-row.ts";

/** Activities that are ready, or whose lease is over, and were not rung for `quietMs`. Ask the queue which of them it still has. */
export async function quietActivities(database: Database, quietMs: number, limit = 500): Promise<readonly Ring[]> {
  const rows = await askDatabase<RingRow>(
    database,
    "Looking for quiet activities",
    `(select ${ringColumns} from activities a join runs r on r.id = a.run_id
      where a.state = 'ready' and a.rung_at < clock_timestamp() - $1::integer * interval '1 millisecond'
      order by a.rung_at limit $2)
     union all
     (select ${ringColumns} from activities a join runs r on r.id = a.run_id
      where a.state = 'claimed' and a.lease_until < clock_timestamp()
        and a.rung_at < clock_timestamp() - $1::integer * interval '1 millisecond'
      order by a.lease_until limit $2)`,
    [quietMs, limit],
  );
  return rows.map(toRing);
}

/** Those the queue still has: looked at again after another `quietMs`. */
export async function leaveQuiet(database: Database, rings: readonly Ring[]): Promise<void> {
  if (rings.length === 0) return;
  await askDatabase(
    database,
    "Leaving activities quiet",
    "update activities set rung_at = clock_timestamp() where id = any($1) and state in ('ready', 'claimed')",
    [rings.map((ring) => ring.activityId)],
  );
}

/** Those the queue has lost get a new ring, under a new job id. Only what is still as it was seen. */
export async function ringAgain(database: Database, rings: readonly Ring[]): Promise<readonly Ring[]> {
  if (rings.length === 0) return [];
  const rows = await askDatabase<RingRow>(
    database,
    "Ringing again",
    `update activities a set rings = a.rings + 1, rung_at = clock_timestamp()
     from json_to_recordset($1::json) as x(id bigint, rings integer), runs r
     where a.id = x.id and a.rings = x.rings and r.id = a.run_id
       and (a.state = 'ready' or (a.state = 'claimed' and a.lease_until < clock_timestamp()))
     returning ${ringColumns}`,
    [JSON.stringify(rings.map((ring) => ({ id: ring.activityId, rings: ring.rings })))],
  );
  return rows.map(toRing);
}

/** Limits the runs whose deadline has passed. Returns what is to be rung. */
export async function enforceDeadlines(outside: Outside, limit = 100): Promise<readonly Ring[]> {
  const { database } = outside;
  const due = await askDatabase<{ id: string; deadline: string }>(
    database,
    "Looking for deadlines",
    "select id, deadline::text from runs where deadline < clock_timestamp() and status = 'doing' order by deadline limit $1",
    [limit],
  );
  const rings: Ring[] = [];
  for (const { id, deadline } of due) {
    const committed = await applyEvent(outside, id, (run, happened) => ({
      type: "run.limited",
      ...happened,
      epoch: run.state.epoch,
      code: "LIMIT_TIME",
      message: `The run's time is over (${run.state.limits.timeMs ?? 0} ms).`,
    }));
    rings.push(...committed.rings);
    // Unless the event set another one, this deadline has done its work.
    await askDatabase(
      database,
      "Clearing a deadline",
      "update runs set deadline = null where id = $1 and deadline = $2::timestamptz",
      [id, deadline],
    );
  }
  return rings;
}

/** Returns what is to be rung. */
export async function expireAsks(outside: Outside, limit = 100): Promise<readonly Ring[]> {
  const due = await askDatabase<{ activity_id: number }>(
    outside.database,
    "Looking for unanswered questions",
    "select activity_id from asks where state = 'open' and expires_at < clock_timestamp() order by expires_at limit $1",
    [limit],
  );
  const rings: Ring[] = [];
  for (const { activity_id } of due) rings.push(...(await expireAsk(outside, activity_id)).rings);
  return rings;
}

/** Deletes root runs that ended before, with everything that hangs on them. Returns how many. */
export async function deleteOldRuns(database: Database, olderThanMs: number, limit = 100): Promise<number> {
  const rows = await askDatabase<{ deleted: number }>(
    database,
    "Deleting old runs",
    `with roots as materialized (
       select id from runs where ended_at < clock_timestamp() - $1::float8 * interval '1 millisecond' and root_id = id
       order by ended_at limit $2 for update skip locked
     ), tree as materialized (select id from runs where root_id in (select id from roots)
     ), d1 as (delete from activities where run_id in (select id from tree)
     ), d2 as (delete from variables where run_id in (select id from tree)
     ), d3 as (delete from events where run_id in (select id from tree)
     ), d4 as (delete from messages where run_id in (select id from tree)
     ), d5 as (delete from threads where run_id in (select id from tree)
     ), d6 as (delete from asks where run_id in (select id from tree)
     ), d7 as (delete from calls where root_id in (select id from roots)
     ), d8 as (delete from reservations where budget_id in (select id from roots)
     ), d9 as (delete from budgets where id in (select id from roots)
     ), d10 as (delete from runs where id in (select id from tree))
     select count(*)::integer as deleted from roots`,
    [olderThanMs, limit],
  );
  return rows[0]?.deleted ?? 0;
}

/** For how long the oldest activity of these queues has been ready and due, in ms; 0: none. A worker that hears nothing then is deaf. */
export async function oldestDue(database: Database, queues: readonly string[]): Promise<number> {
  const rows = await askDatabase<{ ms: number }>(
    database,
    "Looking for due activities",
    `select coalesce(max(extract(epoch from clock_timestamp() - greatest(created_at, coalesce(not_before, created_at)))), 0)::float8 * 1000 as ms
     from (select created_at, not_before from activities where state = 'ready' and queue = any($1)
       and (not_before is null or not_before < clock_timestamp()) order by rung_at limit 1) oldest`,
    [queues],
  );
  return Math.max(0, Math.round(rows[0]?.ms ?? 0));
}
