/**
 * Queued runs start in the order of their creation, as soon as their tenant has slots. The leading supervisor calls this again and again
 * while any run is queued.
 *
 * T1  A queued run is a run like any other, with its first activities requested. Only its enqueue time is infinity (`enqueued_at`), so no
 *     code counts them as due or lost. A run that is cancelled, stopped or deleted leaves the queue by that.
 * T2  A run occupies a slot while it is active: some activity of its tree is due or claimed. A run that waits (for a person, for an
 *     endpoint, for a time) leaves its slot to others. Runs of batches have slots of their own (batches/admit.ts).
 * T3  The number of slots is a target, not a guarantee. A few runs too many can start if two supervisors both believe they lead, or if a
 *     run is enqueued although it is queued. Nothing else changes then.
 * T4  Time in the queue counts for no time limit. A run with a limit first gets an event of its own that starts its time; a repeated event
 *     changes nothing.
 *
 * kill -9 before the statement: the next cycle finds the same runs. After it, before the enqueue: the jobs of the ready activities are
 * lost, and the supervisor enqueues them again.
 */
import type { JobSpec } from "@markmill/engine";
import { inlineColumns, inlineOfRun, rowColumns } from "../commit/lost-jobs.ts";
import { type JobRow, toJobSpec } from "../commit/ready-jobs.ts";
import { queryHot } from "../database/query-database.ts";
import { translate } from "../database/store-error.ts";
import { beginQueuedRun, type Outside } from "../runs/apply-event.ts";
import type { OnSkipped } from "../runs/supervise.ts";
import { placesSql, queuedSql } from "./places-sql.ts";

export interface AdmittedRuns {
  readonly jobs: readonly JobSpec[];
  /** Some runs still wait. */
  readonly waiting: boolean;
}

/**
 * Reads one row of each tenant with queued runs (`waiting` skips from one to the next). All runs before its first queued run, by time, have
 * started, except those created at the same moment. Due or claimed rows are found by their own indexes. Inline activities are on the run,
 * or on one that it called.
 */
const roomText = `with recursive waiting(tenant, since) as (
    (select r.tenant, r.created_at from runs r where ${queuedSql("r")} order by r.tenant, r.created_at, r.id limit 1)
    union all
    select n.tenant, n.created_at from waiting w cross join lateral (
      select r.tenant, r.created_at from runs r where ${queuedSql("r")} and r.tenant > w.tenant order by r.tenant, r.created_at, r.id limit 1) n
  ), due(root_id) as materialized (
    select a.root_id from activities a where a.state = 'ready' and a.enqueued_at <= statement_timestamp()
    union
    select a.root_id from activities a where a.state = 'claimed'
  )
  select w.tenant, greatest(0, p.places - (
    select count(*) from runs r
    where r.status = 'doing' and r.tenant = w.tenant and r.created_at <= w.since + interval '1 second' and r.enqueued_at < 'infinity'
      and r.root_id = r.id and r.budgets <@ array[r.id]
      and (r.inline is not null or r.id in (select root_id from due) or exists (
        select 1 from runs c where c.root_id = r.id and c.root_id <> c.id and c.status || '' = 'doing' and c.inline is not null))
  ))::integer as room
  from waiting w cross join (${placesSql}) p`;

const nextText = `select q.id, q.timed from json_to_recordset($1::json) as x(tenant text, room integer) cross join lateral (
    select r.id, r.deadline = 'infinity' is true as timed from runs r where r.tenant = x.tenant and ${queuedSql("r")}
    order by r.created_at, r.id limit x.room) q`;

/** A row that another statement has locked is changing now, and is checked next time. */
const admitText = `with picked as materialized (
    select q.id from unnest($1::text[]) as x(id) cross join lateral (
      select r.id from runs r where r.id = x.id and r.enqueued_at = 'infinity' and r.status || '' = 'doing' for update skip locked) q
  ), begun as (
    update runs r set enqueued_at = clock_timestamp(), started_at = clock_timestamp() from picked p where r.id = p.id returning r.*
  ), asked as materialized (
    select a.id from begun b cross join lateral (
      select a.id from activities a where a.run_id = b.id and a.state || '' = 'ready' and a.enqueued_at = 'infinity' offset 0) a
  ), due as (
    update activities a set enqueued_at = clock_timestamp(), ready_at = clock_timestamp() from asked k join begun r on true
    where a.id = k.id and r.id = a.run_id returning ${rowColumns}
  )
  select * from due
  union all
  select ${inlineColumns} from begun r cross join lateral ${inlineOfRun}`;

/** Limit of one statement. The next cycle follows soon. */
const mostTogether = 500;

/** `places`: null: as many as workers can use. */
export async function admitRuns(outside: Outside, places: number | null, onSkipped: OnSkipped): Promise<AdmittedRuns> {
  const { database } = outside;
  const ask = <Row extends object>(name: string, text: string, value: unknown) =>
    queryHot<Row>(database, "Admitting queued runs", name, text, [value]);
  const rooms = await ask<{ tenant: string; room: number }>("queued-rooms", roomText, places);
  const open = rooms.flatMap(({ tenant, room }) => (room > 0 ? { tenant, room: Math.min(room, mostTogether) } : []));
  if (open.length === 0) return { jobs: [], waiting: rooms.length > 0 };
  const next = await ask<{ id: string; timed: boolean }>("queued-next", nextText, JSON.stringify(open));
  await beginTimed(
    outside,
    next.flatMap(({ id, timed }) => (timed ? id : [])),
    onSkipped,
  );
  const ids = next.map(({ id }) => id);
  const rows = await ask<JobRow>("queued-admit", admitText, ids);
  const jobs = Map.groupBy(rows, ({ run_id }) => run_id);
  return { jobs: ids.flatMap((id) => (jobs.get(id) ?? []).map(toJobSpec)), waiting: true };
}

/** Another run or a person waits for this run alone, so it starts without waiting for a slot. */
export async function admitAtOnce(outside: Outside, id: string): Promise<readonly JobSpec[]> {
  await beginQueuedRun(outside, id);
  const rows = await queryHot<JobRow>(outside.database, "Admitting a run", "queued-admit", admitText, [[id]]);
  return rows.map(toJobSpec);
}

/** See T4. */
async function beginTimed(outside: Outside, ids: readonly string[], onSkipped: OnSkipped): Promise<void> {
  await Promise.all(
    ids.map(async (run) => {
      try {
        await beginQueuedRun(outside, run);
      } catch (error) {
        const known = translate(error, "Admitting a queued run");
        if (known.code === "STORE_UNREACHABLE") throw known;
        onSkipped(known, { run });
      }
    }),
  );
}
