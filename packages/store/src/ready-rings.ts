/** What runs have ready, as doorbells under the ids they already have: ringing them again is harmless. */
import type { Pool } from "pg";
import type { QueueName, Ring } from "./run-row.ts";

export interface RingRow {
  readonly queue: QueueName;
  readonly run_id: string;
  readonly id: number;
  readonly epoch: number;
  readonly attempt: number;
  readonly rings: number;
  readonly parent_job: string | null;
  readonly parent_activity_id: number | null;
  readonly delay_ms: number;
}

/** Of activities `a` and their runs `r`. */
export const ringColumns = `a.queue, a.run_id, a.id, a.epoch, a.attempt, a.rings, r.parent_job, r.parent_activity_id,
  greatest(0, extract(epoch from coalesce(a.not_before, clock_timestamp()) - clock_timestamp()) * 1000)::float8 as delay_ms`;

const text = `
select ${ringColumns} from activities a join runs r on r.id = a.run_id
where a.run_id = any($1) and a.state = 'ready' and a.epoch = r.epoch
union all
select ${ringColumns} from runs r join activities a on r.id = a.run_id
where r.parent_activity_id = any($2) and a.state = 'ready' and a.epoch = r.epoch`;

/** Of the given runs, and of the runs that the given activities have called. */
export async function readyRings(
  pool: Pool,
  runIds: readonly string[],
  callIds: readonly number[] = [],
): Promise<readonly Ring[]> {
  return (await readyRows(pool, runIds, callIds)).map(toRing);
}

export async function readyRows(pool: Pool, runIds: readonly string[], callIds: readonly number[]): Promise<RingRow[]> {
  return (await pool.query<RingRow>({ name: "ready-rings", text, values: [runIds, callIds] })).rows;
}

export function toRing(row: RingRow): Ring {
  return {
    queue: row.queue,
    runId: row.run_id,
    activityId: row.id,
    epoch: row.epoch,
    attempt: row.attempt,
    rings: row.rings,
    delayMs: Math.ceil(row.delay_ms),
    parentJob: row.parent_job,
  };
}
