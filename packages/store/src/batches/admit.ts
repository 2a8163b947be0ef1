/**
 * Starts runs of waiting submissions: at most as many at once as their batches and the installation allow, shared fairly. The leading
 * supervisor does this whenever a run of a batch has ended, a batch was changed, or some time has passed.
 *
 * A1  A grading attempt gets its slot under the lock of its batch's row, where the runs in flight are counted. So a batch never exceeds its
 *     concurrency, even if two supervisors both believe they lead.
 * A2  The id of its run is generated with the attempt, and the run is created under a key of its own: creating it twice gives one run.
 * A3  The consequences of a batch's state are applied here again until they are complete. Runs of a cancelled batch, or of replaced
 *     content, are ended. Runs that the batch's budget held are resumed when the batch is open.
 *
 * kill -9 after each numbered line:
 *   1 admit: the attempt is in flight and has no run: the next cycle creates it.
 *   2 create: the run has its first activities ready: the supervisor enqueues them like all lost jobs.
 *   3 enqueue: nothing is left to do.
 */
import type { JobSpec, Json } from "@markmill/engine";
import { toJson } from "../database/neutral.ts";
import { queryHot } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { isTroubleOfServer } from "../database/trouble-of-server.ts";
import { cancelRun } from "../runs/apply-event.ts";
import { createRun, type NewRun, type RunCreator } from "../runs/create-run.ts";
import { resumeTree } from "../runs/resume-run.ts";
import type { OnSkipped } from "../runs/supervise.ts";
import type { BatchSettings, WorkCommit, WorkStart } from "./batch.ts";
import { eachOf } from "./change-batch.ts";
import { fairShare, type Sharer } from "./fair-share.ts";
import { lookBefore, noteEnd } from "./settle-batch.ts";
import { tryKey } from "./try-key.ts";

export interface AdmissionOptions {
  /** Maximum number of runs at once, of all batches together, and of one tenant's batches. */
  readonly most: number;
  readonly mostOfTenant?: number;
  /** Enqueues the ready activities of a run as soon as it is created. */
  readonly enqueue: (jobs: readonly JobSpec[]) => Promise<void>;
  readonly onSkipped: OnSkipped;
  /** For tests: called between the numbered lines. */
  readonly failPoint?: (point: "admitted" | "created") => void;
}

export interface Admission {
  readonly admitted: number;
  /** Submissions still wait, or runs continue: check again soon. */
  readonly busy: boolean;
  /** Ids of the batches whose budget is nearly spent. */
  readonly nearlySpent: readonly string[];
}

/** A batch with runs under way or waiting submissions. */
interface ActiveBatch extends Sharer {
  readonly state: "open" | "paused" | "cancelled";
  readonly reason: string;
  /** Attempts in flight that have no run yet. */
  readonly unmade: readonly number[];
  /** See A3. */
  readonly astray: readonly Astray[];
  readonly nearlySpent: boolean;
}

interface Astray {
  readonly run: string;
  /** A later attempt of the same submission has replaced it. */
  readonly replaced: boolean;
  readonly held: boolean;
}

export async function admitWorks(store: RunCreator, options: AdmissionOptions): Promise<Admission> {
  const active = await activeBatches(store, options);
  const sharers = await tendRuns(store, active, options);
  const shares = fairShare(sharers, options);
  const admitted: number[] = [];
  for (const [batchId, share] of shares) {
    try {
      admitted.push(...(await admitShare(store, batchId, share))); // 1
    } catch (error) {
      skip(translate(error, "Admitting works"), options, {});
    }
  }
  const unmade = [...active.flatMap((batch) => batch.unmade), ...admitted];
  if (unmade.length > 0) {
    options.failPoint?.("admitted");
    await createRuns(store, unmade, options);
  }
  return {
    admitted: admitted.length,
    busy: active.some(({ waiting, inFlight }) => waiting + inFlight > 0),
    nearlySpent: active.flatMap(({ id, nearlySpent }) => (nearlySpent ? id : [])),
  };
}

/**
 * `lateral` and `offset 0`, here and below: with a plain join, Postgres reads all submissions of the batch for each attempt while the
 * tables are new.
 */
const itsWork = `cross join lateral (
  select 1 from batch_works w where w.batch_id = t.batch_id and w.key = t.work and w.counts and w.hash = t.hash offset 0) w`;

/**
 * This query runs many times a second beside the rows of all past grading. So it finds attempts in flight by key, and waiting ones by
 * batch. It reads one row of each batch (`begun` skips from one to the next) and counts no more than the number of slots. Rare states are
 * searched only where they occur. An ended run is detected once and never read again.
 */
const activeText = `with recursive flights as materialized (
    select t.id, t.batch_id, t.run_id, t.work, t.try, r.id is null as unmade, r.ended_at is not null as over
    from batch_runs t left join lateral (select id, ended_at from runs where id = t.run_id offset 0) r on true
    where t.admitted_at is not null and t.end_seen_at is null
  ), seen as (
    update batch_runs set end_seen_at = clock_timestamp() where id = any(array(select id from flights where over))
  ), again as materialized (
    select array(select batch_id from (select distinct batch_id from flights) f
      where (select true from batch_runs t where t.batch_id = f.batch_id and t.try > 1 limit 1)) as batches
  ), flying as materialized (
    select f.batch_id, f.id, f.run_id, f.unmade,
      f.batch_id = any((select batches from again)::text[]) and exists (
        select 1 from batch_runs l where l.batch_id = f.batch_id and l.work = f.work and l.try > f.try) as replaced,
      case when (select exists (select 1 from activities where trouble is not null and state in ('ready', 'waiting'))) then (
        select bool_or(a.trouble -> 'failure' ->> 'code' is not distinct from 'BATCH_BUDGET_SPENT') from activities a
        where a.root_id = f.run_id and a.trouble is not null and a.state in ('ready', 'waiting') and (a.trouble ->> 'held')::boolean
      ) end as held_by_budget
    from flights f where not f.over
  ), flown as materialized (
    select batch_id, count(*)::integer as runs, count(held_by_budget)::integer as held, json_agg(id) filter (where unmade) as unmade,
      bool_or(replaced or held_by_budget) as astray
    from flying group by 1
  ), begun(batch_id) as (
    (select batch_id from batch_runs where admitted_at is null order by batch_id limit 1)
    union all
    select (select t.batch_id from batch_runs t where t.admitted_at is null and t.batch_id > b.batch_id order by t.batch_id limit 1)
    from begun b where b.batch_id is not null
  ), active as materialized (
    select b.id, b.tenant, b.state, b.reason, b.concurrency, b.created_at, coalesce(f.runs, 0) as runs, coalesce(f.held, 0) as held, f.unmade, f.astray,
      $1::integer - sum(coalesce(f.runs - f.held, 0)) over () as places,
      $2::integer - sum(coalesce(f.runs - f.held, 0)) over (partition by b.tenant) as places_of_tenant
    from (select batch_id from flown union select batch_id from begun where batch_id is not null) x
      cross join lateral (select * from batches where id = x.batch_id offset 0) b left join flown f on f.batch_id = b.id
    where f.batch_id is not null or b.state <> 'cancelled'
  )
  select b.id, b.tenant, b.state, b.reason, b.concurrency, b.runs as "inFlight", b.held, coalesce(b.unmade, '[]') as unmade,
    case when b.astray or b.state = 'cancelled' then coalesce((
      select json_agg(json_build_object('run', f.run_id, 'replaced', f.replaced, 'held', f.held_by_budget is not null)) from flying f
      where f.batch_id = b.id and not f.unmade and (b.state = 'cancelled' or f.replaced or (f.held_by_budget and b.state = 'open'))
    ), '[]') else '[]' end as astray,
    (select count(*)::integer from (
      select 1 from batch_runs t ${itsWork} where t.batch_id = b.id and b.state = 'open' and t.admitted_at is null
      limit greatest(0, least(b.concurrency - b.runs, b.places, b.places_of_tenant))) few) as waiting,
    coalesce(g.spent_nanodollars + g.reserved_nanodollars >= 0.8 * g.cap_nanodollars
      or g.spent_tokens + g.reserved_tokens >= 0.8 * g.cap_tokens, false) as "nearlySpent"
  from active b left join lateral (select * from budgets where tenant = b.tenant and id = b.id offset 0) g on true
  order by b.created_at, b.id`;

async function activeBatches(
  { database }: RunCreator,
  { most, mostOfTenant = most }: AdmissionOptions,
): Promise<readonly ActiveBatch[]> {
  const values = [most, mostOfTenant];
  return await queryHot<ActiveBatch>(database, "Looking at batches", "active-batches", activeText, values);
}

/** See A3. A held run that is resumed occupies a slot again. */
async function tendRuns(
  store: RunCreator,
  batches: readonly ActiveBatch[],
  options: AdmissionOptions,
): Promise<readonly Sharer[]> {
  const going = new Map<string, number>();
  const astray = batches.flatMap((batch) => batch.astray.map((one) => ({ batch, ...one })));
  await eachOf(astray, async ({ batch: { id, state, reason }, run, replaced, held }) => {
    try {
      if (state === "cancelled" || replaced) {
        await cancelRun(store, run, replaced ? "A newer grading attempt of the same submission replaced it." : reason);
      } else await options.enqueue((await resumeTree(store, run)).jobs);
      if (held) going.set(id, (going.get(id) ?? 0) + 1);
    } catch (error) {
      skip(translate(error, "Tending a run of a batch"), options, { run });
    }
  });
  return batches.map((batch) => ({ ...batch, held: batch.held - (going.get(batch.id) ?? 0) }));
}

/** See A1. */
async function admitShare({ database }: RunCreator, batchId: string, share: number): Promise<readonly number[]> {
  return await inTransaction(database.hot, async (client) => {
    const { rows: open } = await client.query<{ concurrency: number }>({
      name: "lock-open-batch",
      text: "select concurrency from batches where id = $1 and state = 'open' for update",
      values: [batchId],
    });
    if (open[0] === undefined) return [];
    const { rows: admitted } = await client.query<{ id: number }>({
      name: "admit-works",
      text: admitText,
      values: [batchId, share, open[0].concurrency],
    });
    return admitted.map(({ id }) => id);
  });
}

const admitText = `update batch_runs set admitted_at = clock_timestamp() where id = any(array(
    select t.id from batch_runs t ${itsWork} where t.batch_id = $1 and t.admitted_at is null order by t.id
    limit greatest(0, least($2::integer, $3::integer - (
      select count(*)::integer from batch_runs f where f.batch_id = $1 and f.admitted_at is not null and f.end_seen_at is null)))))
  returning id`;

interface Unmade {
  readonly tenant: string;
  readonly batch_id: string;
  readonly run_id: string;
  readonly definition_hash: string;
  readonly hash: string;
  readonly pseudonym: string;
  readonly settings: BatchSettings;
  readonly files: number;
  readonly bytes: number;
  readonly start: WorkStart | null;
  readonly commit: WorkCommit | null;
  readonly try: number;
  readonly criterion: string | null;
}

/** Creates the runs for attempts of this cycle, and of a cycle that was killed. */
async function createRuns(store: RunCreator, tries: readonly number[], options: AdmissionOptions): Promise<void> {
  const unmade = await queryHot<Unmade>(
    store.database,
    "Looking for runs to make",
    "unmade-runs",
    `select b.tenant, t.batch_id, t.run_id, t.definition_hash, t.hash, w.pseudonym, b.settings,
       (w.content ->> 'files')::integer as files, (w.content ->> 'bytes')::bigint as bytes, w.content -> 'start' as start,
       w.content -> 'commit' as commit, t.try, t.criterion
     from batch_runs t cross join lateral (select * from batches where id = t.batch_id offset 0) b
       cross join lateral (select * from batch_works where batch_id = t.batch_id and key = t.work offset 0) w
     where t.id = any($1) and t.end_seen_at is null and t.refusal is null and t.deleted_at is null
       and (select true from runs where id = t.run_id) is null
     order by t.id`,
    [tries],
  );
  await eachOf(unmade, async (one) => {
    try {
      const { jobs } = await createRun(store, one.tenant, await requestOf(store, one)); // 2
      options.failPoint?.("created");
      await options.enqueue(jobs); // 3
    } catch (error) {
      await refuse(store, one, translate(error, "Making a run of a batch"), options);
    }
  });
}

async function requestOf({ definitions }: RunCreator, one: Unmade) {
  const { tenant, definition_hash: hash, settings, pseudonym, batch_id: batch, run_id: id } = one;
  const definition = await definitions.find({ tenant, hash });
  if (definition === null) throw new StoreError("STORE_NOT_FOUND", `There is no definition ${hash}.`);
  const { environment, caps, patienceMs, notes, options = {} } = settings.run;
  const variables = { ...settings.run.variables, ...one.start?.variables };
  const only = one.criterion === null ? {} : { try: one.try, criterion: one.criterion };
  const work: { readonly [name: string]: Json } = { grading: { batch, work: pseudonym, ...only } };
  return {
    id,
    definition,
    labels: { batch, work: pseudonym },
    budgets: [batch],
    variables,
    options: one.start === null ? { ...options, ...work } : options,
    ...(one.start === null ? { submission: { blob: one.hash, files: one.files, bytes: one.bytes } } : {}),
    idempotencyKey: tryKey.of(id),
    requestHash: id,
    ...(environment === undefined ? {} : { environment }),
    ...(caps === undefined ? {} : { caps }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
    notes: [...(notes ?? []), ...commitNotes(one.commit)],
  };
}

/** The run's history shows which commit was graded. */
function commitNotes(commit: WorkCommit | null): NonNullable<NewRun["notes"]> {
  if (commit === null) return [];
  const message = `The submission is commit ${commit.hash} of ${commit.at ?? "an unknown time"}.`;
  return [{ code: "SUBMISSION_NOTE", message }];
}

/** If the refusal may pass, the next cycle tries again. Otherwise it is recorded on the attempt, which frees its slot. */
async function refuse(store: RunCreator, one: Unmade, error: StoreError, options: AdmissionOptions): Promise<void> {
  skip(error, options, { run: one.run_id });
  if (isTroubleOfServer(error)) return;
  try {
    await writeRefusal(store, one, error);
  } catch (caught) {
    skip(translate(caught, "Refusing a submission of a batch"), options, { run: one.run_id });
  }
}

/** The attempt keeps its slot until this is committed. After a kill before that, the next cycle refuses it again. */
async function writeRefusal(store: RunCreator, one: Unmade, error: StoreError): Promise<void> {
  await inTransaction(store.database.calm, async (client) => {
    await client.query("select 1 from batches where id = $1 for update", [one.batch_id]);
    const { rows } = await client.query(
      "select 1 from batch_runs where batch_id = $1 and admitted_at is null limit 1",
      [one.batch_id],
    );
    // Only the last of its tries can end the batch. A look is dear.
    const before = rows.length === 0 ? await lookBefore(client, one.batch_id) : null;
    await client.query(
      `update batch_runs set refusal = $2, end_seen_at = clock_timestamp() where run_id = $1
         and not exists (select 1 from runs where id = $1)`,
      [one.run_id, toJson(tellTeacher(error))],
    );
    if (before !== null) await noteEnd(client, one.batch_id, before, { empty: false });
  });
}

/** The words of Postgres, or of our own code, do not help a teacher and may contain parts of a submission. The log has them (`skip`). */
function tellTeacher({ code, message }: StoreError): { readonly code: string; readonly message: string } {
  const bug =
    "The run of this submission could not be started, because of a defect in Markmill or in its database. " +
    "Try the submission again. If that fails too, ask the operator: the supervisor's log has the details.";
  return { code, message: code === "STORE_BUG" ? bug : message };
}

/** If the server is unreachable, the batch itself is not at fault. */
function skip(error: StoreError, { onSkipped }: AdmissionOptions, about: Parameters<OnSkipped>[1]): void {
  if (error.code === "STORE_UNREACHABLE") throw error;
  onSkipped(error, about);
}
