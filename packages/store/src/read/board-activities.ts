/**
 * Activities for people who watch the queues: of all tenants, by node and run, without content. Of a failure only the code is shown,
 * because messages may quote a student.
 *
 * Only the last `window` events of each run are read: a board asks every few seconds.
 */
import { type WorkKind, type WorkQueue, workKinds } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { queuedSql } from "../shares/places-sql.ts";
import type { HistoryActivity } from "./get-history.ts";
import type { RunStatus } from "./get-run.ts";

export interface BoardActivity
  extends Pick<HistoryActivity, "id" | "node" | "generation" | "attempt" | "state" | "kind" | "createdAt" | "endedAt"> {
  readonly runId: string;
  readonly rootId: string;
  /** The path of the workflow file in the definition. */
  readonly program: string;
  readonly queue: WorkQueue;
  readonly worker: string | null;
  /** For a failed attempt. */
  readonly failure: string | null;
}

export interface BoardRun {
  readonly id: string;
  readonly rootId: string;
  readonly parentActivityId: number | null;
  readonly program: string;
  readonly status: RunStatus;
  readonly queued: boolean;
  readonly failure: string | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

export interface BoardTree {
  /** The root first. */
  readonly runs: readonly BoardRun[];
  /** In the order in which they began. */
  readonly activities: readonly BoardActivity[];
}

/** The queries of a board. */
export interface BoardReader {
  /** The latest ended activities of each kind of work, from the runs that changed last; the latest first. */
  ended(mostOfKind: number): Promise<readonly BoardActivity[]>;
  /** Returns the existing ones, in any order. */
  activities(wanted: readonly ActivityPlace[]): Promise<readonly BoardActivity[]>;
  /** The run of an activity that has a row of its own. null: it has no such row. */
  runOf(activityId: number): Promise<string | null>;
  /** A run with its callers and the runs it called. null: it does not exist. */
  tree(runId: string): Promise<BoardTree | null>;
  /** Returns those of these runs that exist and have not ended. */
  openRuns(runIds: readonly string[]): Promise<ReadonlySet<string>>;
}

export interface ActivityPlace {
  readonly runId: string;
  readonly activityId: number;
}

export function createBoardReader(database: Database): BoardReader {
  return {
    ended: (mostOfKind) => endedActivities(database, mostOfKind),
    activities: (wanted) => activitiesOf(database, wanted),
    runOf: (id) => runOfActivity(database, id),
    tree: (runId) => boardTree(database, runId),
    openRuns: (runIds) => openRunsOf(database, runIds),
  };
}

const window = 200;
const mostRuns = 200;

/** Columns of activities `a`, their runs `r` and the events `e` that ended them. */
const columns = `a.id, a.run_id as "runId", r.root_id as "rootId", r.program, a.node, a.generation, a.attempt, a.state, a.kind,
  a.claimed_by as worker, a.created_at as "createdAt", a.ended_at as "endedAt",
  case e.type when 'activity.failed' then e.body::json -> 'failure' ->> 'code' end as failure`;
const ended = "left join events e on e.run_id = a.run_id and e.seq = a.seq and e.part = 0";
const recently = `(a.seq is null or a.seq > r.rev - ${window})`;

type Row = Omit<BoardActivity, "queue">;
const toActivity = (row: Row): BoardActivity => ({ ...row, queue: workKinds[row.kind as WorkKind].queue });

async function endedActivities(database: Database, mostOfKind: number): Promise<readonly BoardActivity[]> {
  const rows = await queryDatabase<Row>(
    database,
    "Listing what ended",
    `with moved as materialized (
       (select id from runs where ended_at is not null order by ended_at desc limit $2)
       union
       (select id from runs where status in ('doing', 'stopped') and enqueued_at < 'infinity' order by enqueued_at desc limit $2)
     ), done as materialized (
       select x.* from moved m join runs r on r.id = m.id cross join lateral (
         select a.*, row_number() over (partition by a.kind order by a.ended_at desc) as nth
         from run_activities a where a.run_id = r.id and a.seq > r.rev - ${window} and a.state = 'done'
       ) x where x.nth <= $1
     ), latest as (
       select d.*, row_number() over (partition by d.kind order by d.ended_at desc, d.id desc) as place from done d
     )
     select ${columns} from latest a join runs r on r.id = a.run_id ${ended}
     where a.place <= $1 order by a.ended_at desc, a.id desc`,
    [mostOfKind, mostRuns],
  );
  return rows.map(toActivity);
}

async function activitiesOf(database: Database, wanted: readonly ActivityPlace[]): Promise<readonly BoardActivity[]> {
  if (wanted.length === 0) return [];
  const rows = await queryDatabase<Row>(
    database,
    "Reading activities",
    `select ${columns} from unnest($1::text[], $2::bigint[]) as w(run_id, id) join runs r on r.id = w.run_id
     cross join lateral (select a.* from run_activities a where a.run_id = r.id and a.id = w.id and ${recently}) a ${ended}`,
    [wanted.map(({ runId }) => runId), wanted.map(({ activityId }) => activityId)],
  );
  return rows.map(toActivity);
}

async function runOfActivity(database: Database, id: number): Promise<string | null> {
  const rows = await queryDatabase<{ runId: string }>(
    database,
    "Reading an activity",
    `select run_id as "runId" from activities where id = $1`,
    [id],
  );
  return rows[0]?.runId ?? null;
}

async function openRunsOf(database: Database, runIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Looking for open runs",
    "select id from runs where id = any($1::text[]) and ended_at is null",
    [runIds],
  );
  return new Set(rows.map(({ id }) => id));
}

async function boardTree(database: Database, runId: string): Promise<BoardTree | null> {
  const runs = await queryDatabase<BoardRun>(
    database,
    "Reading a tree of runs",
    `select id, root_id as "rootId", parent_activity_id as "parentActivityId", program, status, ${queuedSql("runs")} as queued, reason ->> 'code' as failure,
       created_at as "createdAt", ended_at as "endedAt"
     from runs where root_id = (select root_id from runs where id = $1) order by depth, created_at, id limit ${mostRuns}`,
    [runId],
  );
  if (runs.length === 0) return null;
  const rows = await queryDatabase<Row>(
    database,
    "Reading the activities of a tree",
    `select ${columns} from runs r
     cross join lateral (select a.* from run_activities a where a.run_id = r.id and ${recently}) a ${ended}
     where r.id = any($1) order by a.created_at, a.id`,
    [runs.map(({ id }) => id)],
  );
  return { runs, activities: rows.map(toActivity) };
}
