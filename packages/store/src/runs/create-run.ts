/**
 * Creates a run, with its first event folded and its first activities ready, in one statement. The same statement writes its idempotency
 * key. Two equal requests with one key create one run. Another request with the same key is refused.
 */
import { createHash } from "node:crypto";
import {
  type Caller,
  type Failure,
  failure,
  initialState,
  type JobSpec,
  type Json,
  type Limits,
  ownReserved,
  type Program,
  type RunStarted,
  type RunState,
  remainingCaps,
  step,
  waited,
} from "@markmill/engine";
import type { Pool, PoolClient } from "pg";
import type { AuditAsked } from "../access/audit.ts";
import type { Committed, Committer } from "../commit/committer.ts";
import { readyJobs } from "../commit/ready-jobs.ts";
import { type Activity, type LoadedRun, unstarted } from "../commit/run-row.ts";
import { waitsBelow } from "../commit/waits-below.ts";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutral } from "../database/neutral.ts";
import { queryDatabase, queryNamed } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { uuidv7 } from "../database/uuidv7.ts";
import type { Definition, Definitions } from "../definitions/definitions.ts";
import { closeBudget, openRunBudget } from "../money/budgets.ts";
import { boundsOf, type Ceilings, capsWithin } from "../money/ceilings.ts";
import type { Shares } from "../shares/shares.ts";

export interface NewRun {
  readonly id?: string;
  readonly definition: Definition;
  /** Absent: the definition's root. */
  readonly program?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly caps?: Partial<Limits>;
  /** How long the run waits for a model's endpoint in trouble. */
  readonly patienceMs?: number;
  /** The notes that the person who started it saw, for the record. */
  readonly notes?: RunStarted["notes"];
  readonly labels?: Readonly<Record<string, string>>;
  readonly options?: Json;
  readonly submission?: Json;
  /** Budgets besides the run's own, such as a batch's. */
  readonly budgets?: readonly string[];
  /** Two equal requests with one key create one run. Another request with the same key is refused. */
  readonly idempotencyKey?: string;
  /** Distinguishes requests with the same key. Default: computed from the whole request. */
  readonly requestHash?: string;
  readonly forkedFrom?: string;
  /**
   * The run may have to wait for a slot if its tenant has many runs under way (shares/admit-runs.ts). Then there are no jobs to enqueue.
   */
  readonly takesTurn?: boolean;
  /** The entry for the audit log, written with the run and its outcome. Not written if no run is created. */
  readonly audit?: AuditAsked;
}

export interface CreatedRun {
  readonly runId: string;
  /** false: the key was used before, and this is the run it created. */
  readonly created: boolean;
  readonly jobs: readonly JobSpec[];
}

export interface RunCreator {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly committer: Committer;
  readonly clock: DatabaseClock;
  readonly ceilings: Ceilings;
  readonly shares: Shares;
}

export async function createRun(creations: RunCreator, tenant: string, request: NewRun): Promise<CreatedRun> {
  // A run of a batch got its slot with the batch.
  const takesTurn = request.takesTurn === true && (request.budgets ?? []).length === 0;
  const make = (queued: boolean) => makeRun(creations, tenant, request, queued);
  return takesTurn ? await creations.shares.start(tenant, make) : await make(false);
}

async function makeRun(creations: RunCreator, tenant: string, request: NewRun, queued: boolean): Promise<CreatedRun> {
  const { database, definitions, committer, clock, ceilings, shares } = creations;
  const { definition, idempotencyKey = null } = request;
  const caps = capsWithin(request.caps ?? {}, ceilings);
  const id = request.id ?? uuidv7(clock.now());
  const path = request.program ?? definition.root;
  const program = definition.programs[path];
  if (program === undefined) {
    throw new StoreError("STORE_NOT_FOUND", `Definition ${definition.name} has no program ${path}.`);
  }
  await takeBlobs(creations, tenant, request);
  await definitions.save(tenant, definition);
  const event: RunStarted = {
    type: "run.started",
    at: clock.now(),
    seed: drawSeed(),
    run: id,
    variables: request.variables ?? {},
    environment: request.environment ?? {},
    caps,
    ...(request.patienceMs === undefined ? {} : { patienceMs: request.patienceMs }),
    ...(request.notes === undefined || request.notes.length === 0 ? {} : { notes: request.notes }),
    bounds: boundsOf(ceilings),
    caller: null,
  };
  const budgets = [...(request.budgets ?? [])];
  // The caps of the run are known once its first event is folded: the program's limits, its settings, the request's caps.
  const { limits } = firstStep(program, event);
  const cap = ownReserved(limits, {});
  if (cap !== null) {
    await openRunBudget(database, tenant, id, cap);
    budgets.unshift(id);
  }
  const run = unstarted({
    id,
    rootId: id,
    tenant,
    program,
    path,
    definitionHash: definition.hash,
    parent: null,
    budgets,
    pools: [],
    options: request.options ?? {},
  });
  const timed = queued && limits.timeMs !== null;
  const committed = await committer.commit({
    run,
    event: timed ? { ...event, queued: true } : event,
    source: null,
    creation: {
      ...creationOf(run),
      parent_activity_id: null,
      parent_attempt: null,
      parent_epoch: null,
      parent_job: null,
      depth: 0,
      labels: neutral(request.labels ?? {}),
      submission: request.submission ?? null,
      idempotency_key: idempotencyKey,
      request_hash: idempotencyKey === null ? null : requestHash(request, path),
      audit: request.audit === undefined ? null : neutral(request.audit),
      queued,
      forked_from: request.forkedFrom ?? null,
    },
  });
  if (committed.kind === "committed") {
    if (queued) shares.tellQueued();
    return { runId: id, created: true, jobs: queued ? [] : committed.jobs };
  }
  const existing = await existingRun(creations, tenant, request, { id, path }).catch(async (error: unknown) => {
    await closeUnused(database, tenant, id);
    throw error;
  });
  if (existing.runId !== id) await closeUnused(database, tenant, id);
  return existing;
}

/** Deletes the budget if its run was not created. */
export async function closeUnused(database: Database, tenant: string, id: string): Promise<void> {
  const rows = await queryDatabase(database, "Looking for a run", "select 1 from runs where id = $1 and tenant = $2", [
    id,
    tenant,
  ]);
  if (rows.length === 0) await closeBudget(database, tenant, id);
}

/**
 * Resets the age of the blobs that a new run names, so that they exist when the run is created (blobs.ts, P3). A blob older than an hour is
 * touched, which waits for a running deletion. A newer blob will not be deleted soon. The operator's limit on the storage of a tree also
 * applies here.
 */
async function takeBlobs(
  { database, ceilings }: RunCreator,
  tenant: string,
  { submission, options }: NewRun,
): Promise<void> {
  const named = `${JSON.stringify(submission ?? null)} ${JSON.stringify(options ?? null)}`.match(/[0-9a-f]{64}/g);
  if (named === null) return;
  const found = await queryNamed<{ hash: string; size: number }>(
    database,
    "Taking blobs",
    "take-blobs",
    `with touched as (
       update blobs set created_at = clock_timestamp()
       where tenant = $1 and hash = any($2) and created_at < statement_timestamp() - interval '1 hour'
       returning hash, size
     )
     select hash, size from touched union all
     select hash, size from blobs
     where tenant = $1 and hash = any($2) and created_at >= statement_timestamp() - interval '1 hour'`,
    [tenant, [...new Set(named)]],
  );
  const wanted = blobOf(submission);
  if (wanted !== null && found.every(({ hash }) => hash !== wanted)) {
    throw new StoreError("STORE_NOT_FOUND", `There is no blob ${wanted}.`);
  }
  const bytes = found.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= ceilings.blobBytes) return;
  const message = `The run has ${bytes} bytes of files; at most ${ceilings.blobBytes} are allowed (CEILING_BLOB_MB).`;
  throw new StoreError("STORE_TOO_LARGE", message);
}

/** The hash of the submitted blob. */
function blobOf(submission: Json | undefined): string | null {
  if (typeof submission !== "object" || submission === null || !("blob" in submission)) return null;
  return typeof submission.blob === "string" ? submission.blob : null;
}

function firstStep(program: Program, event: RunStarted): RunState {
  try {
    return step(program, initialState, neutral(event)).state;
  } catch (error) {
    throw translate(error, "Starting a run");
  }
}

async function existingRun(
  creations: RunCreator,
  tenant: string,
  request: NewRun,
  { id, path }: { readonly id: string; readonly path: string },
): Promise<CreatedRun> {
  const { idempotencyKey: key } = request;
  const keyed = key === undefined ? null : await keyedRun(creations, tenant, key, requestHash(request, path));
  if (keyed !== null) return keyed;
  const rows = await queryDatabase(
    creations.database,
    "Looking for a run",
    "select 1 from runs where tenant = $1 and id = $2",
    [tenant, id],
  );
  if (rows.length === 0) throw new StoreError("STORE_ID_TAKEN", `Run ${id} already exists.`);
  return madeBefore(creations, id);
}

/** The run that a key created. null: it created none. A key that was used for another request is refused. */
export async function keyedRun(
  creations: RunCreator,
  tenant: string,
  key: string,
  requestHash: string | null,
): Promise<CreatedRun | null> {
  const [found] = await queryDatabase<{ id: string; other: boolean }>(
    creations.database,
    "Looking for a key",
    `select run_id as id, coalesce(request_hash <> $3, false) as other from idempotency_keys where tenant = $1 and key = $2`,
    [tenant, key, requestHash],
  );
  if (found === undefined) return null;
  if (found.other) throw new StoreError("STORE_KEY_REUSED", `The key ${key} was used for another request.`);
  return await madeBefore(creations, found.id);
}

async function madeBefore({ database }: RunCreator, runId: string): Promise<CreatedRun> {
  try {
    return { runId, created: false, jobs: await readyJobs(database.calm, [runId]) };
  } catch (error) {
    throw translate(error, "Reading what a run has ready");
  }
}

/** Equal requests have equal hashes. */
function requestHash(request: NewRun, path: string): string {
  if (request.requestHash !== undefined) return request.requestHash;
  const { id: _, notes: _notes, idempotencyKey: _key, audit: _audit, takesTurn: _turn, definition, ...asked } = request;
  return createHash("sha256")
    .update(JSON.stringify(sorted({ ...asked, definition: definition.hash, program: path })))
    .digest("hex");
}

/** The order of an object's fields does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

export type StartedCall =
  | Committed
  /** The tree has reached its maximum number of runs. */
  | { readonly kind: "refused"; readonly failure: Failure; readonly jobs: readonly JobSpec[] };

/**
 * The first delivery of a CALL creates the called run and leaves the CALL waiting for it. A second delivery, or one after the caller was
 * stopped, creates nothing and returns the ready activities of the called run. `job` is the CALL's queue job, which the called run's jobs
 * name as their parent.
 *
 * If the called run's own limit is lower than the remaining limit of its caller, it first gets a budget. On kill -9 before the run is
 * created, the budget is deleted by its age (delete-orphans.ts), and the next delivery creates another run with another budget.
 */
export async function startCall(
  creations: RunCreator,
  caller: LoadedRun,
  activity: Activity,
  job: string | null,
): Promise<StartedCall> {
  const { work } = activity;
  if (work.kind !== "call") throw new StoreError("STORE_BUG", `Activity ${activity.id} is no call but ${work.kind}.`);
  const { database, definitions, committer, clock } = creations;
  const key = { tenant: caller.tenant, hash: caller.definitionHash };
  await definitions.ensure([key]);
  const { start } = work;
  const id = uuidv7(clock.now());
  const program = definitions.program(key, work.program);
  const { depth, agent, threads, aside, inherited, patienceMs } = start;
  const from: Caller = {
    depth,
    agent,
    threads,
    ...(aside === undefined ? {} : { aside }),
    ...(inherited === undefined ? {} : { inherited }),
  };
  const at = clock.now();
  // The limits that remain now: a call that is repeated after a stop has less left than the first one.
  const caps = remainingCaps(caller.program, await withWaits(creations, caller, at), at);
  const event: RunStarted = {
    type: "run.started",
    at,
    seed: drawSeed(),
    run: id,
    variables: start.variables,
    environment: caller.state.environment,
    caps,
    ...(patienceMs === undefined ? {} : { patienceMs }),
    bounds: caller.state.bounds,
    caller: from,
  };
  const own = ownReserved(firstStep(program, event).limits, caps);
  if (own !== null) await openRunBudget(database, caller.tenant, id, own, aside);
  const run = unstarted({
    id,
    rootId: caller.rootId,
    tenant: caller.tenant,
    program,
    path: work.program,
    definitionHash: caller.definitionHash,
    parent: { activityId: activity.id, attempt: activity.ref.attempt, epoch: activity.epoch, job },
    budgets: own === null ? caller.budgets : [id, ...caller.budgets],
    pools: caller.pools,
    options: caller.options,
  });
  let excess: Failure | null = null;
  const committed = await committer.commit({
    run,
    event,
    source: null,
    // Other calls of the tree may be made at the same time: they wait for the same locks.
    allows:
      run.pools.length === 0
        ? null
        : async (client) => {
            excess = await treeExcess(creations, client, caller, activity);
            return excess === null;
          },
    creation: {
      ...creationOf(run),
      parent_activity_id: activity.id,
      parent_attempt: activity.ref.attempt,
      parent_epoch: activity.epoch,
      parent_job: job,
      depth: start.depth,
      labels: {},
      submission: null,
      idempotency_key: null,
      request_hash: null,
      audit: null,
      queued: false,
      forked_from: null,
    },
  });
  if (committed.kind === "committed") return committed;
  if (own !== null) await closeUnused(database, caller.tenant, id);
  if (excess !== null) return { kind: "refused", failure: excess, jobs: [] };
  try {
    return { kind: "dropped", jobs: await readyJobs(database.hot, [], [activity.id]) };
  } catch (error) {
    throw translate(error, "Reading what a called run has ready");
  }
}

/**
 * The caller, with the time for which its other open calls have only waited so far. That time is not subtracted from the called run's time.
 */
async function withWaits({ database, definitions }: RunCreator, caller: LoadedRun, at: number): Promise<RunState> {
  const { state } = caller;
  if (state.limits.timeMs === null || Object.keys(state.active).length < 2) return state;
  try {
    return waited(state, (await waitsBelow(database.hot, definitions, caller.id, at)).spans);
  } catch (error) {
    throw translate(error, "Reading called runs");
  }
}

/**
 * Why a CALL may not create a run, or null: its tree has as many runs as allowed. A run that an earlier delivery created does not count.
 * The answer is exact if no other call of the tree is made at the same time. Otherwise startCall asks again under the locks of the step
 * pools.
 */
export async function callExcess(
  creations: RunCreator,
  caller: LoadedRun,
  activity: Activity,
): Promise<Failure | null> {
  try {
    return await treeExcess(creations, creations.database.hot, caller, activity);
  } catch (error) {
    throw translate(error, "Counting the runs of a tree");
  }
}

async function treeExcess(
  { ceilings }: RunCreator,
  on: Pool | PoolClient,
  caller: LoadedRun,
  activity: Activity,
): Promise<Failure | null> {
  const most = ceilings.runsPerRoot;
  const { rows } = await on.query<{ full: boolean }>({
    name: "runs-of-root",
    text: `select (select count(*) from (select 1 from runs where root_id = $1 and root_id <> id limit $2) callees) >= $2
      and not exists (select 1 from runs where parent_activity_id = $3 and parent_attempt = $4 and parent_epoch = $5) as full`,
    values: [caller.rootId, most - 1, activity.id, activity.ref.attempt, activity.epoch],
  });
  if (rows[0]?.full !== true) return null;
  return failure("LIMIT_RUNS", `A tree has at most ${most} runs (the operator's CEILING_RUNS).`);
}

function creationOf(run: LoadedRun) {
  return {
    id: run.id,
    root_id: run.rootId,
    tenant: run.tenant,
    definition_hash: run.definitionHash,
    program: run.path,
    name: run.program.name,
    budgets: run.budgets,
    pools: [...run.pools],
    options: run.options,
  };
}

/** 32 bits. */
export function drawSeed(): number {
  return Math.trunc(Math.random() * 2 ** 32);
}
