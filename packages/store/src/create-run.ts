/** A run is born with its first event folded and its first activities ready, in one statement; twice with one key is once. */
import {
  type Caller,
  type Doorbell,
  type Failure,
  failure,
  initialState,
  type Json,
  type Limits,
  type Program,
  type RunStarted,
  type RunState,
  step,
} from "@markmill/engine";
import { askDatabase } from "./ask-database.ts";
import { closeBudget, openBudget } from "./budgets.ts";
import { boundsOf, type Ceilings, capsWithin } from "./ceilings.ts";
import type { Committed, Committer } from "./commit/committer.ts";
import { type Activity, type LoadedRun, unstarted } from "./commit/run-row.ts";
import type { Database } from "./database.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { Definition, Definitions } from "./definitions.ts";
import { neutral } from "./neutral.ts";
import { readyRings } from "./ready-rings.ts";
import { StoreError, translate } from "./store-error.ts";
import { uuidv7 } from "./uuidv7.ts";

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
}

export async function createRun(births: Births, request: NewRun): Promise<CreatedRun> {
  const { database, definitions, committer, clock, ceilings } = births;
  const { definition, idempotencyKey = null } = request;
  const caps = capsWithin(request.caps ?? {}, ceilings);
  const id = request.id ?? uuidv7(clock.now());
  const path = request.program ?? definition.root;
  const program = definition.programs[path];
  if (program === undefined) {
    throw new StoreError("STORE_NOT_FOUND", `Definition ${definition.name} has no program ${path}.`);
  }
  await refuseLargeBlobs(births, request);
  await definitions.save(definition);
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
  if (limits.nanodollars !== null || limits.tokens !== null) {
    await openBudget(database, id, { nanodollars: limits.nanodollars, tokens: limits.tokens }, "run");
    budgets.unshift(id);
  }
  const run = unstarted({
    id,
    rootId: id,
    program,
    path,
    definitionHash: definition.hash,
    parent: null,
    budgets,
    options: request.options ?? {},
  });
  const committed = await committer.commit({
    run,
    event,
    bearer: null,
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
      forked_from: request.forkedFrom ?? null,
    },
  });
  if (committed.kind === "committed") return { runId: id, created: true, rings: committed.rings };
  const existing = await existingRun(database, id, idempotencyKey);
  if (existing.runId !== id) await closeBudget(database, id);
  return existing;
}

/** The operator's ceiling on what a tree stores as blobs. */
async function refuseLargeBlobs({ database, ceilings }: Births, { submission, options }: NewRun): Promise<void> {
  const named = `${JSON.stringify(submission ?? null)} ${JSON.stringify(options ?? null)}`.match(/[0-9a-f]{64}/g);
  if (named === null) return;
  const rows = await askDatabase<{ bytes: number }>(
    database,
    "Weighing blobs",
    "select coalesce(sum(size), 0)::float8 as bytes from blobs where hash = any($1)",
    [[...new Set(named)]],
  );
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes <= ceilings.blobBytes) return;
  const message = `The run brings ${bytes} bytes of files; at most ${ceilings.blobBytes} are allowed (CEILING_BLOB_MB).`;
  throw new StoreError("STORE_TOO_LARGE", message);
}

function firstStep(program: Program, event: RunStarted): RunState {
  try {
    return step(program, initialState, neutral(event)).state;
  } catch (error) {
    throw translate(error, "Starting a run");
  }
}

async function existingRun(database: Database, id: string, key: string | null): Promise<CreatedRun> {
  try {
    const { rows } = await database.calm.query<{ id: string }>(
      "select id from runs where id = $1 or ($2::text is not null and idempotency_key = $2) order by (id = $1) desc limit 1",
      [id, key],
    );
    const runId = rows[0]?.id;
    if (runId === undefined) throw new StoreError("STORE_BUG", `Run ${id} was neither created nor found.`);
    return { runId, created: false, rings: await readyRings(database.calm, [runId]) };
  } catch (error) {
    throw translate(error, "Reading a run");
  }
}

/**
 * The first delivery of a CALL: makes the callee and leaves the CALL waiting for it. A second delivery, or one after the caller was
 * stopped, makes nothing and is told what the callee has ready. `job` is the CALL's queue job, which the callee's jobs name as their parent.
 */
export async function startCall(
  births: Births,
  caller: LoadedRun,
  activity: Activity,
  job: string | null,
): Promise<Committed> {
  const { work } = activity;
  if (work.kind !== "call") throw new StoreError("STORE_BUG", `Activity ${activity.id} is no call but ${work.kind}.`);
  const { database, definitions, committer, clock } = births;
  await definitions.ensure([caller.definitionHash]);
  const { start } = work;
  const run = unstarted({
    id: uuidv7(clock.now()),
    rootId: caller.rootId,
    program: definitions.program(caller.definitionHash, work.program),
    path: work.program,
    definitionHash: caller.definitionHash,
    parent: { activityId: activity.id, attempt: activity.ref.attempt, epoch: activity.epoch, job },
    budgets: caller.budgets,
    options: caller.options,
  });
  const { depth, agent, threads, aside, inherited, patienceMs } = start;
  const from: Caller = {
    ...{ depth, agent, threads },
    ...(aside === undefined ? {} : { aside }),
    ...(inherited === undefined ? {} : { inherited }),
  };
  const event: RunStarted = {
    type: "run.started",
    at: clock.now(),
    seed: drawSeed(),
    run: run.id,
    variables: start.variables,
    environment: caller.state.environment,
    caps: start.caps,
    ...(patienceMs === undefined ? {} : { patienceMs }),
    bounds: caller.state.bounds,
    caller: from,
  };
  const committed = await committer.commit({
    run,
    event,
    bearer: null,
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
      forked_from: null,
    },
  });
  if (committed.kind === "committed") return committed;
  try {
    return { kind: "dropped", rings: await readyRings(database.hot, [], [activity.id]) };
  } catch (error) {
    throw translate(error, "Reading what a called run has ready");
  }
}

/** Why a CALL may make no callee, or null: its tree has as many runs as it may. One that an earlier delivery has made counts for nothing. */
export async function callExcess(births: Births, caller: LoadedRun, activity: Activity): Promise<Failure | null> {
  const most = births.ceilings.runsPerRoot;
  try {
    const { rows } = await births.database.hot.query<{ full: boolean }>({
      name: "runs-of-root",
      text: `select (select count(*) from (select 1 from runs where root_id = $1 and root_id <> id limit $2) callees) >= $2
        and not exists (select 1 from runs where parent_activity_id = $3 and parent_attempt = $4 and parent_epoch = $5) as full`,
      values: [caller.rootId, most - 1, activity.id, activity.ref.attempt, activity.epoch],
    });
    if (rows[0]?.full !== true) return null;
    return failure("LIMIT_RUNS", `A tree has at most ${most} runs (the operator's CEILING_RUNS).`);
  } catch (error) {
    throw translate(error, "Counting the runs of a tree");
  }
}

function birthOf(run: LoadedRun) {
  return {
    id: run.id,
    root_id: run.rootId,
    definition_hash: run.definitionHash,
    program: run.path,
    name: run.program.name,
    budgets: run.budgets,
    options: run.options,
  };
}

/** 32 bits. */
export function drawSeed(): number {
  return Math.trunc(Math.random() * 2 ** 32);
}
