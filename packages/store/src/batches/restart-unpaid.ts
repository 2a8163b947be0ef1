/**
 * Restarts submissions of a class that began with wrong settings. Submissions without a paid reply start again with the batch's current
 * settings (model, script, parameters, workflow), each as a new attempt of the same content.
 *
 * U1  A submission with a paid reply stays as it is. A reply of a script cost nothing, so it does not count as paid.
 * U2  A submission whose request to a model is under way at this moment stays as it is, and so does one with an answer of a person.
 * U3  The run that a new attempt replaces starts no further activity: its ready activities are delayed here, and the scheduler cancels the
 *     run (admit.ts, A3).
 * U4  A new attempt is added only if the run started with other settings than it would now, or failed because the endpoint refused the
 *     request. Repeating this changes nothing.
 *
 * This runs in the caller's transaction, which has locked the row of the batch (save-batch.ts, V1). On kill -9 nothing happened, and the
 * same command does it all.
 */
import type { Json } from "@markmill/engine";
import type { PoolClient } from "pg";
import type { DatabaseClock } from "../database/database-clock.ts";
import { toJson } from "../database/neutral.ts";
import { uuidv7 } from "../database/uuidv7.ts";
import { isKept } from "../leases/presence.ts";
import type { BatchSettings, WorkStart } from "./batch.ts";
import { standing, worksWithRuns } from "./standing-sql.ts";

export interface Restarted {
  /** Submissions that start again with the batch's current settings. */
  readonly restarted: number;
  /** Submissions under way that started with other settings and keep them, because of a paid reply. */
  readonly kept: number;
}

interface Candidate {
  readonly work: string;
  readonly hash: string;
  readonly try: number;
  readonly runId: string;
  readonly why: string;
  readonly criterion: string | null;
  readonly definitionHash: string;
  readonly options: Json;
  readonly started: { readonly variables?: Readonly<Record<string, string>> } | null;
  readonly start: WorkStart | null;
  readonly ended: boolean;
  /** The run failed, and the endpoint had refused one of its requests. */
  readonly refused: boolean;
  readonly paid: boolean;
  readonly busy: boolean;
}

/**
 * Failures that another address of the endpoint may not have. A run that failed with one is restarted, although its settings are the same.
 */
const endpointCodes: readonly string[] = ["MODEL_REQUEST_REFUSED", "MODEL_URL_INVALID"];

const candidatesText = `
select w.key as work, w.hash, l.try, l.run_id as "runId", l.why, l.criterion, l.definition_hash as "definitionHash", r.options,
  (select e.body::json from events e where e.run_id = r.id and e.type = 'run.started' order by e.seq limit 1) as started,
  w.content -> 'start' as start, r.ended_at is not null as ended,
  r.status = 'failed' and exists (select 1 from runs k join events e on e.run_id = k.id and e.type = 'activity.failed'
    where (k.id = r.id or k.root_id = r.id and k.root_id <> k.id) and e.body::json #>> '{failure,code}' = any($2)) as refused,
  (r.options ->> 'script') is null and exists (select 1 from calls c where c.root_id = r.id) as paid,
  exists (select 1 from activities a join charges c on c.activity_id = a.id and c.state = 'open'
    where a.root_id = r.id and a.state = 'claimed' and (a.lease_until > clock_timestamp() or ${isKept("a")}))
  or exists (select 1 from activities a where a.root_id = r.id and a.kind = 'ask' and a.state = 'done') as busy
from ${worksWithRuns}
where w.batch_id = $1 and w.counts and w.hash = l.hash and l.admitted_at is not null
  and (${standing} = 'running' or ${standing} = 'failed' and r.status = 'failed')
order by w.key`;

const addText = `
insert into batch_runs (batch_id, work, try, run_id, definition_hash, rubric_hash, hash, why, criterion)
select $1, x.work, x.try, x.run_id, x.definition, b.rubric_hash, x.hash, x.why, x.criterion
from json_to_recordset($2::json) as x(work text, try integer, run_id text, definition text, hash text, why text, criterion text)
  join batches b on b.id = $1
order by x.work`;

/** Much longer than the scheduler needs to cancel the run. */
const putOffText = `
update activities set not_before = clock_timestamp() + interval '1 hour'
where id = any(array(select id from activities where root_id = any($1::text[]) and state = 'ready' order by id for update))`;

export async function restartUnpaid(
  client: PoolClient,
  clock: DatabaseClock,
  batch: { readonly id: string; readonly definitionHash: string; readonly run: BatchSettings["run"] },
): Promise<Restarted> {
  const { rows } = await client.query<Candidate>(candidatesText, [batch.id, endpointCodes]);
  const due = rows.filter((one) => isDue(one, batch));
  const again = due.filter(({ paid, busy }) => !paid && !busy);
  if (again.length > 0) {
    const tries = again.map((one) => ({
      work: one.work,
      try: one.try + 1,
      run_id: uuidv7(clock.now()),
      hash: one.hash,
      criterion: one.criterion,
      definition: definitionOf(one, batch.definitionHash),
      why: one.why === "regrade" ? one.why : "retry",
    }));
    await client.query(addText, [batch.id, toJson(tries)]);
    await client.query(putOffText, [again.flatMap(({ ended, runId }) => (ended ? [] : runId))]);
  }
  return { restarted: again.length, kept: due.filter(({ paid, ended }) => paid && !ended).length };
}

/** See U4. */
function isDue(
  one: Candidate,
  batch: { readonly definitionHash: string; readonly run: BatchSettings["run"] },
): boolean {
  if (one.refused) return true;
  if (one.started === null) return false;
  const { grading: _, ...options } = (one.options ?? {}) as Readonly<Record<string, Json>>;
  const variables = { ...batch.run.variables, ...one.start?.variables };
  return (
    one.definitionHash !== definitionOf(one, batch.definitionHash) ||
    !isSame(options, batch.run.options ?? {}) ||
    !isSame(one.started.variables ?? {}, variables)
  );
}

/** A regrade may have a workflow of its own, and a row of a table of runs always has one. */
function definitionOf(one: Candidate, ofBatch: string): string {
  return one.why === "regrade" ? one.definitionHash : (one.start?.definition ?? ofBatch);
}

/** The order of fields does not matter. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return one === other;
  const [left, right] = [Object.entries(one), new Map(Object.entries(other))];
  return left.length === right.size && left.every(([name, value]) => right.has(name) && isSame(value, right.get(name)));
}
