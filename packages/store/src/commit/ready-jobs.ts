/** The ready activities of runs, as jobs under their existing ids. Enqueuing them again is harmless. */
import type { JobSpec, QueueName } from "@markmill/engine";
import type { Pool } from "pg";

export interface JobRow {
  readonly queue: QueueName;
  readonly run_id: string;
  readonly id: number;
  readonly epoch: number;
  readonly attempt: number;
  readonly enqueues: number;
  readonly parent_job: string | null;
  readonly parent_activity_id: number | null;
  readonly delay_ms: number;
}

/** Every delivery that finds nothing to do enqueues these. The supervisor finds the rest. */
const mostPerRun = 100;

/** Columns of `open_activities` `a`. */
export const jobColumns = `a.queue, a.run_id, a.id, a.epoch, a.attempt, a.enqueues, a.parent_job, a.parent_activity_id,
  greatest(0, extract(epoch from coalesce(a.not_before, clock_timestamp()) - clock_timestamp()) * 1000)::float8 as delay_ms`;

/**
 * The state is compared in a way that hides the index of all ready activities: a plan made while the table was empty would scan that index
 * for every run.
 */
const readyOf = (run: string) =>
  `select ${jobColumns} from open_activities a where a.run_id = ${run} and a.state || '' = 'ready' limit ${mostPerRun}`;

const text = `
select ready.* from runs r cross join lateral (${readyOf("r.id")}) ready where r.id = any($1) and r.enqueued_at < 'infinity'
union all
select ready.* from runs r cross join lateral (${readyOf("r.id")}) ready where r.parent_activity_id = any($2)`;

/** For the given runs, and for the runs that the given activities have called. */
export async function readyJobs(
  pool: Pool,
  runIds: readonly string[],
  callIds: readonly number[] = [],
): Promise<readonly JobSpec[]> {
  return (await readyRows(pool, runIds, callIds)).map(toJobSpec);
}

export async function readyRows(pool: Pool, runIds: readonly string[], callIds: readonly number[]): Promise<JobRow[]> {
  return (await pool.query<JobRow>({ name: "ready-jobs", text, values: [runIds, callIds] })).rows;
}

export function toJobSpec(row: JobRow): JobSpec {
  return {
    queue: row.queue,
    runId: row.run_id,
    activityId: row.id,
    epoch: row.epoch,
    attempt: row.attempt,
    enqueues: row.enqueues,
    delayMs: Math.ceil(row.delay_ms),
    parentJob: row.parent_job,
  };
}
