/** What runs have ready, as doorbells under the ids they already have: ringing them again is harmless. */
import type { Pool } from "pg";
import type { LightColumn } from "./commit/light-activity.ts";
import type { QueueName, Ring } from "./commit/run-row.ts";

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

/** Every delivery that finds nothing to do rings these; what is beyond is found by the supervisor. */
const mostPerRun = 100;

/** Of activities `a` and their runs `r`. */
export const ringColumns = `a.queue, a.run_id, a.id, a.epoch, a.attempt, a.rings, r.parent_job, r.parent_activity_id,
  greatest(0, extract(epoch from coalesce(a.not_before, clock_timestamp()) - clock_timestamp()) * 1000)::float8 as delay_ms`;

/** The light activities of runs `r`, one row per run: `toLightRows` takes them apart. */
export interface LightRow extends Omit<RingRow, "queue" | "id" | "attempt" | "delay_ms"> {
  readonly light: readonly LightColumn[];
}

export const lightColumns = "r.id as run_id, r.epoch, r.rings, r.parent_job, r.parent_activity_id, r.light";

export function toLightRows({ light, ...run }: LightRow): RingRow[] {
  return light.map(({ id, attempt }) => ({ ...run, queue: "control", id, attempt, delay_ms: 0 }));
}

/** The state is compared in a way that hides the index of all that is ready: a plan made while it was empty would scan it for every run. */
const text = `
select ready.* from runs r cross join lateral (
  select ${ringColumns} from activities a where a.run_id = r.id and a.state || '' = 'ready' and a.epoch = r.epoch limit ${mostPerRun}) ready
where r.id = any($1)
union all
select ready.* from runs r cross join lateral (
  select ${ringColumns} from activities a where a.run_id = r.id and a.state || '' = 'ready' and a.epoch = r.epoch limit ${mostPerRun}) ready
where r.parent_activity_id = any($2)`;

const lightText = `
select ${lightColumns} from runs r where r.id = any($1) and r.light is not null and r.status = 'doing'
union all
select ${lightColumns} from runs r where r.parent_activity_id = any($2) and r.light is not null and r.status = 'doing'`;

/** Of the given runs, and of the runs that the given activities have called. */
export async function readyRings(
  pool: Pool,
  runIds: readonly string[],
  callIds: readonly number[] = [],
): Promise<readonly Ring[]> {
  return (await readyRows(pool, runIds, callIds)).map(toRing);
}

export async function readyRows(pool: Pool, runIds: readonly string[], callIds: readonly number[]): Promise<RingRow[]> {
  const values = [runIds, callIds];
  const [rows, light] = await Promise.all([
    pool.query<RingRow>({ name: "ready-rings", text, values }),
    pool.query<LightRow>({ name: "light-rings", text: lightText, values }),
  ]);
  return [...rows.rows, ...light.rows.flatMap((row) => toLightRows(row).slice(0, mostPerRun))];
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
