/**
 * A run is born with its first event folded and its first activities ready, in one statement. Its idempotency key is written by the same
 * statement: twice with one key is once, and the same key with another request is refused.
 */
import { createHash } from "node:crypto";
import {
  type Caller,
  type Doorbell,
  type Failure,
  failure,
  initialState,
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
import { readyRings } from "../commit/ready-rings.ts";
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
  /** How long trouble of a model's endpoint is waited for. */
  readonly patienceMs?: number;
  /** What the one who starts it was told, for the record. */
  readonly notes?: RunStarted["notes"];
  readonly labels?: Readonly<Record<string, string>>;
  readonly options?: Json;
  readonly submission?: Json;
  /** Budgets besides the run's own, such as a batch's. */
  readonly budgets?: readonly string[];
  /** Twice with the same key is once; the same key with another request is refused. */
  readonly idempotencyKey?: string;
  /** Tells requests with the same key apart. Absent: it is taken from all that is asked for. */
  readonly requestHash?: string;
  readonly forkedFrom?: string;
  /** It may have to wait for its turn where its tenant has many runs under way (shares/admit-runs.ts); its rings are then none. */
  readonly takesTurn?: boolean;
  /** Written to the audit log with the run, as done; not where no run is made. */
  readonly audit?: AuditAsked;
}

export interface CreatedRun {
  readonly runId: string;
  /** false: the key was used before, and this is the run it made. */
  readonly created: boolean;
  readonly rings: readonly Doorbell[];
}

export interface Births {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly committer: Committer;
  readonly clock: DatabaseClock;
  readonly ceilings: Ceilings;
  readonly shares: Shares;
}

export async function createRun(births: Births, tenant: string, request: NewRun): Promise<CreatedRun> {
  // A run of a batch was admitted with it.
  const takesTurn = request.takesTurn === true && (request.budgets ?? []).length === 0;
  const make = (queued: boolean) => makeRun(births, tenant, request, queued);
  return takesTurn ? await births.shares.start(tenant, make) : await make(false);
}

async function makeRun(births: Births, tenant: string, request: NewRun, queued: boolean): Promise<CreatedRun> {
  const { database, definitions, committer, clock, ceilings, shares } = births;
  const { definition, idempotencyKey = null } = request;
  const caps = capsWithin(request.caps ?? {}, ceilings);
  const id = request.id ?? uuidv7(clock.now());
  const path = request.program ?? definition.root;
  const program = definition.programs[path];
  if (program === undefined) {
    throw new StoreError("STORE_NOT_FOUND", `Definition ${definition.name} has no program ${path}.`);
  }
  await takeBlobs(births, tenant, request);
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
  // What the run may spend is known once its first event is folded: the program's limits, its settings, the request's caps.
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
    birth: {
      ...birthOf(run),
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
    return { runId: id, created: true, rings: queued ? [] : committed.rings };
  }
  const existing = await existingRun(births, tenant, request, { id, path }).catch(async (error: unknown) => {
    await closeUnused(database, tenant, id);
    throw error;
  });
  if (existing.runId !== id) await closeUnused(database, tenant, id);
  return existing;
}

/** The budget of a run that was not made. */
export async function closeUnused(database: Database, tenant: string, id: string): Promise<void> {
  const rows = await queryDatabase(database, "Looking for a run", "select 1 from runs where id = $1 and tenant = $2", [
    id,
    tenant,
  ]);
  if (rows.length === 0) await closeBudget(database, tenant, id);
}

/**
 * The blobs that a run names become young, so that they are there when it is made (blobs.ts, P3): what is older than an hour is touched,
 * which waits for who deletes it, and what is younger is not deleted for long. The operator's ceiling on what a tree stores holds here.
 */
async function takeBlobs(
  { database, ceilings }: Births,
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

/** The hash of the blob that was handed in. */
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
  births: Births,
  tenant: string,
  request: NewRun,
  { id, path }: { readonly id: string; readonly path: string },
): Promise<CreatedRun> {
  const { idempotencyKey: key } = request;
  const keyed = key === undefined ? null : await keyedRun(births, tenant, key, requestHash(request, path));
  if (keyed !== null) return keyed;
  const rows = await queryDatabase(
    births.database,
    "Looking for a run",
    "select 1 from runs where tenant = $1 and id = $2",
    [tenant, id],
  );
  if (rows.length === 0) throw new StoreError("STORE_ID_TAKEN", `Run ${id} already exists.`);
  return madeBefore(births, id);
}

/** The run that a key made; null: it made none. A key that was used for another request is refused. */
export async function keyedRun(
  births: Births,
  tenant: string,
  key: string,
  requestHash: string | null,
): Promise<CreatedRun | null> {
  const [found] = await queryDatabase<{ id: string; other: boolean }>(
    births.database,
    "Looking for a key",
    `select run_id as id, coalesce(request_hash <> $3, false) as other from idempotency_keys where tenant = $1 and key = $2`,
    [tenant, key, requestHash],
  );
  if (found === undefined) return null;
  if (found.other) throw new StoreError("STORE_KEY_REUSED", `The key ${key} was used for another request.`);
  return await madeBefore(births, found.id);
}

async function madeBefore({ database }: Births, runId: string): Promise<CreatedRun> {
  try {
    return { runId, created: false, rings: await readyRings(database.calm, [runId]) };
  } catch (error) {
    throw translate(error, "Reading what a run has ready");
  }
}

/** Two requests that ask for the same have the same. */
function requestHash(request: NewRun, path: string): string {
  if (request.requestHash !== undefined) return request.requestHash;
  const { id: _, notes: _notes, idempotencyKey: _key, audit: _audit, takesTurn: _turn, definition, ...asked } = request;
  return createHash("sha256")
    .update(JSON.stringify(sorted({ ...asked, definition: definition.hash, program: path })))
    .digest("hex");
}

/** The order in which the members of an object were written means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

export type StartedCall =
  | Committed
  /** The tree has as many runs as it may. */
  | { readonly kind: "refused"; readonly failure: Failure; readonly rings: readonly Doorbell[] };

/**
 * The first delivery of a CALL: makes the callee and leaves the CALL waiting for it. A second delivery, or one after the caller was
 * stopped, makes nothing and is told what the callee has ready. `job` is the CALL's queue job, which the callee's jobs name as their parent.
 *
 * A callee whose own limit is lower than what its caller has left gets a budget first. On kill -9 before the run is made, the budget goes by its
 * age (delete-orphans.ts), and the next delivery makes another run with another budget.
 */
export async function startCall(
  births: Births,
  caller: LoadedRun,
  activity: Activity,
  job: string | null,
): Promise<StartedCall> {
  const { work } = activity;
  if (work.kind !== "call") throw new StoreError("STORE_BUG", `Activity ${activity.id} is no call but ${work.kind}.`);
  const { database, definitions, committer, clock } = births;
  const key = { tenant: caller.tenant, hash: caller.definitionHash };
  await definitions.ensure([key]);
  const { start } = work;
  const id = uuidv7(clock.now());
  const program = definitions.program(key, work.program);
  const { depth, agent, threads, aside, inherited, patienceMs } = start;
  const from: Caller = {
    ...{ depth, agent, threads },
    ...(aside === undefined ? {} : { aside }),
    ...(inherited === undefined ? {} : { inherited }),
  };
  const at = clock.now();
  // What is left now: a call that is made again after a stop has less than the first had.
  const caps = remainingCaps(caller.program, await withWaits(births, caller, at), at);
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
            excess = await treeExcess(births, client, caller, activity);
            return excess === null;
          },
    birth: {
      ...birthOf(run),
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
  if (excess !== null) return { kind: "refused", failure: excess, rings: [] };
  try {
    return { kind: "dropped", rings: await readyRings(database.hot, [], [activity.id]) };
  } catch (error) {
    throw translate(error, "Reading what a called run has ready");
  }
}

/** The caller with what its other calls, which have not returned, waited so far: time in which it only waits is not taken from the callee. */
async function withWaits({ database, definitions }: Births, caller: LoadedRun, at: number): Promise<RunState> {
  const { state } = caller;
  if (state.limits.timeMs === null || Object.keys(state.active).length < 2) return state;
  try {
    return waited(state, (await waitsBelow(database.hot, definitions, caller.id, at)).spans);
  } catch (error) {
    throw translate(error, "Reading called runs");
  }
}

/**
 * Why a CALL may make no callee, or null: its tree has as many runs as it may. One that an earlier delivery has made counts for nothing. It is
 * exact where no other call of the tree is made at the same time; where one may be, startCall asks again under the locks of the step pools.
 */
export async function callExcess(births: Births, caller: LoadedRun, activity: Activity): Promise<Failure | null> {
  try {
    return await treeExcess(births, births.database.hot, caller, activity);
  } catch (error) {
    throw translate(error, "Counting the runs of a tree");
  }
}

async function treeExcess(
  { ceilings }: Births,
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

function birthOf(run: LoadedRun) {
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
