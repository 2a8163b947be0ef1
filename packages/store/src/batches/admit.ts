/**
 * Admission: works that wait become runs, as many at once as their batches and the installation allow, shared fairly. The supervisor that leads
 * does it whenever a run of a batch has ended, a batch was changed, or some time has passed.
 *
 * A1  A try is admitted under the lock of its batch's row, counted against the runs in flight there: never more than its concurrency,
 *     also with two supervisors that both believe they lead.
 * A2  Its run has the id that was drawn with the try, and is born under a key of its own: made twice is once.
 * A3  What follows from the state of a batch is done here again until it is done: runs of a cancelled batch, or of content that was replaced, are
 *     ended; runs that the batch's budget held go on when the batch is open.
 *
 * kill -9 after each numbered line:
 *   1 admit   the try is in flight and has no run: the next look makes it.
 *   2 create  the run has its first activities ready: the supervisor rings them as any that are quiet.
 *   3 ring    nothing is left to do.
 */
import type { Doorbell, Json } from "@markmill/engine";
import { cancelRun } from "../apply-event.ts";
import { type Births, createRun } from "../create-run.ts";
import { toJson } from "../neutral.ts";
import { queryDatabase, queryNamed } from "../query-database.ts";
import { resumeTree } from "../resume-run.ts";
import { StoreError, translate } from "../store-error.ts";
import type { OnSkipped } from "../supervise.ts";
import { inTransaction } from "../transaction.ts";
import type { BatchSettings, WorkStart } from "./batch.ts";
import { eachOf } from "./change-batch.ts";
import { fairShare, type Sharer } from "./fair-share.ts";
import { tryKey } from "./try-key.ts";

export interface AdmissionOptions {
  /** Runs of all batches at once, and of one tenant's. */
  readonly most: number;
  readonly mostOfTenant?: number;
  /** Rings what a run has ready, as soon as it is made. */
  readonly ring: (rings: readonly Doorbell[]) => Promise<void>;
  readonly onSkipped: OnSkipped;
  /** For tests: called between the numbered lines. */
  readonly failPoint?: (point: "admitted" | "created") => void;
}

export interface Admission {
  readonly admitted: number;
  /** Works that go on waiting, or runs that go on: it is worth looking again soon. */
  readonly busy: boolean;
  /** Batches whose budget is nearly spent, by their ids. */
  readonly nearlySpent: readonly string[];
}

interface Flight {
  readonly batch_id: string;
  readonly run_id: string;
  readonly state: "open" | "paused" | "cancelled";
  readonly reason: string;
  /** null: it is not made yet. */
  readonly ended: boolean | null;
  /** A later try of the same work has taken its place. */
  readonly replaced: boolean;
  /** The batch's budget refused a call of it. */
  readonly held: boolean;
}

export async function admitWorks(store: Births, options: AdmissionOptions): Promise<Admission> {
  const flights = await inFlight(store);
  await tendFlights(store, flights, options);
  const sharers = await openBatches(store);
  const shares = fairShare(sharers, options);
  let admitted = 0;
  for (const [batchId, share] of shares) {
    try {
      admitted += await admitShare(store, batchId, share); // 1
    } catch (error) {
      skip(translate(error, "Admitting works"), options, {});
    }
  }
  if (admitted > 0 || flights.some(({ ended }) => ended === null)) {
    options.failPoint?.("admitted");
    await createRuns(store, options);
  }
  return {
    admitted,
    busy: sharers.some(({ waiting, inFlight: runs }) => waiting + runs > 0),
    nearlySpent: sharers.flatMap(({ id, nearlySpent }) => (nearlySpent ? id : [])),
  };
}

/** Those that have ended are told apart once, and never looked at again. */
async function inFlight({ database }: Births): Promise<readonly Flight[]> {
  return await queryNamed<Flight>(
    database,
    "Looking at runs of batches",
    "batch-flights",
    `with flights as materialized (
       select t.id, t.batch_id, t.run_id, b.state, b.reason, r.ended_at is not null as over, r.id is null as unmade,
         exists (select 1 from batch_runs later where later.batch_id = t.batch_id and later.work = t.work and later.try > t.try) as replaced,
         r.id is not null and r.ended_at is null and exists (
           select 1 from activities a where a.root_id = r.id and a.trouble is not null and a.state in ('ready', 'waiting')
             and (a.trouble ->> 'held')::boolean and a.trouble -> 'failure' ->> 'code' = 'BATCH_BUDGET_SPENT') as held
       from batch_runs t join batches b on b.id = t.batch_id left join runs r on r.id = t.run_id
       where t.admitted_at is not null and t.end_seen_at is null
     ), seen as (
       update batch_runs set end_seen_at = clock_timestamp() where id in (select id from flights where over)
     )
     select batch_id, run_id, state, reason, case when unmade then null else false end as ended, replaced, held
     from flights where not over`,
    [],
  );
}

/** A3. */
async function tendFlights(store: Births, flights: readonly Flight[], options: AdmissionOptions): Promise<void> {
  const wanted = flights.filter(
    ({ ended, state, replaced, held }) =>
      ended === false && (state === "cancelled" || replaced || (held && state === "open")),
  );
  await eachOf(wanted, async ({ run_id: runId, state, reason, replaced }) => {
    try {
      if (state === "cancelled" || replaced) {
        await cancelRun(store, runId, replaced ? "Other content was handed in." : reason);
      } else await options.ring((await resumeTree(store, runId)).rings);
    } catch (error) {
      skip(translate(error, "Tending a run of a batch"), options, { run: runId });
    }
  });
}

interface OpenBatch extends Sharer {
  readonly nearlySpent: boolean;
}

async function openBatches({ database }: Births): Promise<readonly OpenBatch[]> {
  return await queryNamed<OpenBatch>(
    database,
    "Looking at open batches",
    "open-batches",
    `with flying as (
       select t.batch_id, count(*)::integer as runs, (count(*) filter (where exists (
           select 1 from activities a where a.root_id = t.run_id and a.trouble is not null and a.state in ('ready', 'waiting')
             and (a.trouble ->> 'held')::boolean)))::integer as held
       from batch_runs t where t.admitted_at is not null and t.end_seen_at is null group by 1
     ), waiting as (
       select batch_id, count(*)::integer as works from batch_runs t where admitted_at is null
         and exists (select 1 from batch_works w where w.batch_id = t.batch_id and w.key = t.work and w.counts and w.hash = t.hash)
       group by 1
     )
     select b.id, b.tenant, b.concurrency, coalesce(f.runs, 0) as "inFlight", coalesce(f.held, 0) as held,
       case when b.state = 'open' then coalesce(w.works, 0) else 0 end as waiting,
       coalesce(g.spent_nanodollars + g.reserved_nanodollars >= 0.8 * g.cap_nanodollars
         or g.spent_tokens + g.reserved_tokens >= 0.8 * g.cap_tokens, false) as "nearlySpent"
     from batches b left join flying f on f.batch_id = b.id left join waiting w on w.batch_id = b.id
       left join budgets g on g.tenant = b.tenant and g.id = b.id
     where f.batch_id is not null or w.batch_id is not null
     order by b.created_at, b.id`,
    [],
  );
}

/** A1. */
async function admitShare({ database }: Births, batchId: string, share: number): Promise<number> {
  return await inTransaction(database.calm, async (client) => {
    const { rows: open } = await client.query<{ concurrency: number }>(
      "select concurrency from batches where id = $1 and state = 'open' for update",
      [batchId],
    );
    if (open[0] === undefined) return 0;
    const { rowCount } = await client.query(
      `update batch_runs set admitted_at = clock_timestamp() where id in (
         select t.id from batch_runs t join batch_works w on w.batch_id = t.batch_id and w.key = t.work
         where t.batch_id = $1 and t.admitted_at is null and w.counts and w.hash = t.hash
         order by t.id
         limit greatest(0, least($2::integer, $3::integer - (
           select count(*)::integer from batch_runs f where f.batch_id = $1 and f.admitted_at is not null and f.end_seen_at is null))))`,
      [batchId, share, open[0].concurrency],
    );
    return rowCount ?? 0;
  });
}

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
  readonly try: number;
  readonly criterion: string | null;
}

/** Of this look and of one that was killed. */
async function createRuns(store: Births, options: AdmissionOptions): Promise<void> {
  const unmade = await queryNamed<Unmade>(
    store.database,
    "Looking for runs to make",
    "unmade-runs",
    `select b.tenant, t.batch_id, t.run_id, t.definition_hash, t.hash, w.pseudonym, b.settings,
       (w.content ->> 'files')::integer as files, (w.content ->> 'bytes')::bigint as bytes, w.content -> 'start' as start, t.try, t.criterion
     from batch_runs t join batches b on b.id = t.batch_id join batch_works w on w.batch_id = t.batch_id and w.key = t.work
     where t.admitted_at is not null and t.end_seen_at is null and t.refusal is null and t.deleted_at is null
       and not exists (select 1 from runs r where r.id = t.run_id)
     order by t.id`,
    [],
  );
  await eachOf(unmade, async (one) => {
    try {
      const { rings } = await createRun(store, one.tenant, await requestOf(store, one)); // 2
      options.failPoint?.("created");
      await options.ring(rings); // 3
    } catch (error) {
      await refuse(store, one, translate(error, "Making a run of a batch"), options);
    }
  });
}

async function requestOf({ definitions }: Births, one: Unmade) {
  const { tenant, definition_hash: hash, settings, pseudonym, batch_id: batch, run_id: id } = one;
  const definition = await definitions.find({ tenant, hash });
  if (definition === null) throw new StoreError("STORE_NOT_FOUND", `There is no definition ${hash}.`);
  const { environment, caps, patienceMs, notes, options = {} } = settings.run;
  const variables = { ...settings.run.variables, ...one.start?.variables };
  const only = one.criterion === null ? {} : { try: one.try, criterion: one.criterion };
  const work: { readonly [name: string]: Json } = { grading: { batch, work: pseudonym, ...only } };
  return {
    ...{ id, definition, labels: { batch, work: pseudonym }, budgets: [batch], variables },
    options: one.start === null ? { ...options, ...work } : options,
    ...(one.start === null ? { submission: { blob: one.hash, files: one.files, bytes: one.bytes } } : {}),
    ...{ idempotencyKey: tryKey.of(id), requestHash: id },
    ...(environment === undefined ? {} : { environment }),
    ...(caps === undefined ? {} : { caps }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
    ...(notes === undefined ? {} : { notes }),
  };
}

/** What may pass is tried again by the next look; what will not is told of the try, and holds no place. */
async function refuse(store: Births, one: Unmade, error: StoreError, options: AdmissionOptions): Promise<void> {
  skip(error, options, { run: one.run_id });
  if (error.transient) return;
  await queryDatabase(
    store.database,
    "Refusing a run",
    `update batch_runs set refusal = $2, end_seen_at = clock_timestamp() where run_id = $1
       and not exists (select 1 from runs where id = $1)`,
    [one.run_id, toJson({ code: error.code, message: error.message })],
  );
}

/** A server that is away is no property of the batch at hand. */
function skip(error: StoreError, { onSkipped }: AdmissionOptions, about: Parameters<OnSkipped>[1]): void {
  if (error.code === "STORE_UNREACHABLE") throw error;
  onSkipped(error, about);
}
