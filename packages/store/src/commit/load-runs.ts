/** Reads the current state of runs, for a decision. */

import type { Json } from "@markmill/engine";
import type { Pool, PoolClient } from "pg";
import { databaseNow } from "../database/database-clock.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { type InlineColumn, toInline } from "./inline-activity.ts";
import { waitsForCallee } from "./kinds-sql.ts";
import type { LoadedRun } from "./run-row.ts";
import { fullState, type KeptState } from "./run-state.ts";

export interface RunColumns {
  readonly run_id: string;
  readonly root_id: string;
  readonly tenant: string;
  readonly rev: number;
  readonly run_epoch: number;
  readonly status: string;
  readonly kept: KeptState;
  readonly variables: Readonly<Record<string, string>> | null;
  readonly definition_hash: string;
  readonly program: string;
  readonly parent_activity_id: number | null;
  readonly parent_attempt: number | null;
  readonly parent_epoch: number | null;
  readonly parent_job: string | null;
  readonly budgets: readonly string[];
  readonly pools: readonly string[];
  readonly options: Json;
  readonly inline: readonly InlineColumn[] | null;
  readonly run_enqueues: number;
  readonly now: number;
}

export const runColumns = `
  r.id as run_id, r.root_id, r.tenant, r.rev, r.epoch as run_epoch, r.status, r.kept::json as kept, r.definition_hash, r.program,
  r.parent_activity_id, r.parent_attempt, r.parent_epoch, r.parent_job, r.budgets, r.pools, r.options, r.inline,
  r.enqueues as run_enqueues,
  (select json_object_agg(v.name, v.value) from variables v where v.run_id = r.id and v.value is not null) as variables,
  ${databaseNow} as now`;

export function toLoadedRun(row: RunColumns, definitions: Definitions): LoadedRun {
  return {
    id: row.run_id,
    rootId: row.root_id,
    tenant: row.tenant,
    rev: row.rev,
    state: fullState(row.kept, row.variables ?? {}),
    program: definitions.program({ tenant: row.tenant, hash: row.definition_hash }, row.program),
    path: row.program,
    definitionHash: row.definition_hash,
    parent:
      row.parent_activity_id === null
        ? null
        : {
            activityId: row.parent_activity_id,
            attempt: row.parent_attempt ?? 1,
            epoch: row.parent_epoch ?? 1,
            job: row.parent_job,
          },
    budgets: row.budgets,
    pools: row.pools,
    options: row.options,
    inline: toInline(row.inline),
    enqueues: row.run_enqueues,
  };
}

const byId = `select ${runColumns} from runs r where r.id = any($1)`;
const lockText = "select r.id from runs r where r.id = any($1) order by r.id for update";
/** `lateral` and `offset 0`: with a plain join, Postgres plans a scan of all activities while the table is new. */
const openTree = `
  with recursive tree as (
    select id from unnest($1::text[]) as id
    union
    select r.id from tree t
      cross join lateral (
        select a.id from activities a where a.run_id = t.id and ${waitsForCallee("a")} and a.state = 'waiting' offset 0) a
      join runs r on r.parent_activity_id = a.id and r.ended_at is null
  )`;
const lockTreeText = `${openTree}
  select r.id from runs r where r.id in (select id from tree) order by r.id for update of r`;
const orphansText = `
  select r.id from activities a join runs r on r.parent_activity_id = a.id
  where a.run_id = any($1) and ${waitsForCallee("a")} and r.ended_at is null
    and not (a.state = 'waiting' and a.attempt = r.parent_attempt and a.epoch = r.parent_epoch)
  order by r.id for update of r`;

export async function loadRuns(
  on: Pool | PoolClient,
  definitions: Definitions,
  ids: readonly string[],
): Promise<Map<string, LoadedRun>> {
  const { rows } = await on.query<RunColumns>({ name: "load-runs", text: byId, values: [ids] });
  return toMap(rows, definitions);
}

/**
 * Locks the run until the transaction ends. Then a second statement reads it: a statement that waited for the lock would see the variables
 * of before the wait.
 */
export async function lockRun(on: PoolClient, definitions: Definitions, id: string): Promise<LoadedRun | undefined> {
  await on.query(lockText, [[id]]);
  return (await loadRuns(on, definitions, [id])).get(id);
}

/**
 * Locks a run and the open runs below it, in the order of their ids. Call this before taking back activities. The end of a called run locks
 * that run and then the calling activity, so the calling activity must not be locked before the called run.
 */
export async function lockTree(on: PoolClient, ids: readonly string[]): Promise<void> {
  await on.query(lockTreeText, [ids]);
}

/** The open runs below a run, as they are now. */
export async function loadCallees(on: Pool, definitions: Definitions, id: string): Promise<readonly LoadedRun[]> {
  const text = `${openTree} select id from tree where id <> $2`;
  const { rows } = await on.query<{ id: string }>(text, [[id], id]);
  if (rows.length === 0) return [];
  const below = rows.map((row) => row.id);
  return [...(await loadRuns(on, definitions, below)).values()];
}

/**
 * Open runs that were called by an activity of the given runs which no longer waits for them. They stay locked until the transaction ends.
 */
export async function lockOrphans(
  on: PoolClient,
  definitions: Definitions,
  ids: readonly string[],
): Promise<Map<string, LoadedRun>> {
  const { rows } = await on.query<{ id: string }>(orphansText, [ids]);
  if (rows.length === 0) return new Map();
  return loadRuns(
    on,
    definitions,
    rows.map(({ id }) => id),
  );
}

async function toMap(rows: readonly RunColumns[], definitions: Definitions): Promise<Map<string, LoadedRun>> {
  await definitions.ensure(rows.map(({ tenant, definition_hash: hash }) => ({ tenant, hash })));
  return new Map(rows.map((row) => [row.run_id, toLoadedRun(row, definitions)]));
}
