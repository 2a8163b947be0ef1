/**
 * Step pools. If a run makes calls in parallel with other work, one row counts the steps of the run and of all runs below it: its pool
 * (engine/src/shared-steps.ts, P1). A run counts its steps in its own pool and in the pools of all its callers.
 *
 * Q1  A pool is locked before the rows of its runs, and several pools in the order of their ids. So the number of remaining steps is known
 *     when the event is decided, and still true when it is committed.
 * Q2  An event begins at most as many steps as remain in every one of its pools (`room`). Steps of a handler have an allowance of their
 *     own: callers count them without a check.
 * Q3  The commit after which a run shares its steps creates the pool, with the steps taken so far. A pool never counts down.
 * Q4  A run that shares its steps with no other run has no pool, and its commits skip all of this.
 *
 * All changes are part of the transaction that commits the event. On kill -9, Postgres has either both or none.
 */
import { sharesSteps, stepLimit } from "@markmill/engine";
import type { PoolClient } from "pg";
import type { Advance } from "./advance.ts";
import type { LoadedRun } from "./run-row.ts";
import type { AdvancedLevel } from "./write-fork.ts";

export interface StepPool {
  readonly run_id: string;
  readonly cap: number;
  readonly used: number;
}

/** Returns whether the commit must lock pools. A called run is created under their locks, so that the runs of a tree can be counted. */
export function usesPools({ run, creation, begun, opensPool, state }: Advance): boolean {
  if (opensPool) return true;
  if (run.pools.length === 0) return false;
  return creation !== null || begun.flow + begun.handler > 0 || turnsToHandler(run, state);
}

const turnsToHandler = (run: LoadedRun, state: Advance["state"]) =>
  state.phase.is === "handling" && run.state.phase.is !== "handling";

/** See Q1. Locks the run's own pool if it exists: the run in memory may be older than its pool. */
export async function lockPools(on: PoolClient, { id, pools }: LoadedRun): Promise<readonly StepPool[]> {
  const text = "select run_id, cap, used from step_pools where run_id = any($1) order by run_id for update";
  return (await on.query<StepPool>(text, [[...new Set([...pools, id])]])).rows;
}

/** See Q2. null: only the run's own limit applies. */
export function roomFor({ id, state }: LoadedRun, pools: readonly StepPool[]): number | null {
  const counting = state.phase.is === "handling" ? pools.filter(({ run_id }) => run_id === id) : pools;
  if (counting.length === 0) return null;
  return Math.max(0, Math.min(...counting.map(({ cap, used }) => cap - used)));
}

/** Returns whether the steps that an advance begins fit into `room`. Steps of a handler that begins with this event do not count. */
export function fitsRoom({ run, begun }: Advance, room: number | null): boolean {
  return room === null || (run.state.phase.is === "handling" ? begun.handler : begun.flow) <= room;
}

/** How a commit changes pools. It adds its steps to all pools in `to`. It may set the cap of the run's own pool, or create that pool. */
export interface Counting {
  readonly to: readonly string[];
  readonly flow: number;
  readonly handler: number;
  /** A handler begins. Its allowance is added to all steps that the run and the runs below it have taken. */
  readonly allowance: number | null;
  readonly opens: { readonly cap: number; readonly used: number } | null;
}

export function countingOf({ run, state, begun, opensPool }: Advance): Counting {
  const begins = turnsToHandler(run, state) && state.phase.is === "handling" ? state.phase.from : null;
  return {
    to: run.pools,
    ...begun,
    allowance: begins === null ? null : stepLimit(state) - begins.steps,
    opens: opensPool ? { cap: stepLimit(state), used: state.spent.steps } : null,
  };
}

/** Writes the counts of an advance that was just written. */
export async function countSteps(on: PoolClient, runId: string, counting: Counting): Promise<void> {
  const { to, flow, handler, allowance, opens } = counting;
  if (to.length > 0) {
    await on.query(
      `update step_pools set used = used + $2::bigint + $3::bigint,
         cap = case when run_id = $4 and $5::bigint is not null then used + $2::bigint + $5::bigint else cap end
       where run_id = any($1)`,
      [to, flow, handler, runId, allowance],
    );
  }
  if (opens === null) return;
  await openPool(on, runId, opens.cap, opens.used);
  await on.query("update runs set pools = array_append(pools, $1) where id = $1", [runId]);
}

async function openPool(on: PoolClient, runId: string, cap: number, used: number): Promise<void> {
  const text = "insert into step_pools (run_id, cap, used) values ($1, $2, $3) on conflict do nothing";
  await on.query(text, [runId, cap, used]);
}

/** For a fork: the pools of each level, from the root down. A level has used its own steps and those of the levels below it. */
export async function openPools(
  on: PoolClient,
  levels: readonly AdvancedLevel[],
): Promise<readonly (readonly string[])[]> {
  const pools: (readonly string[])[] = [];
  for (const [index, { level, state }] of levels.entries()) {
    const above = pools.at(-1) ?? [];
    const shares = sharesSteps(level.run.program, state);
    const used = levels.slice(index).reduce((sum, { state: { spent } }) => sum + spent.steps, 0);
    if (shares) await openPool(on, level.id, stepLimit(state), used);
    pools.push(shares ? [...above, level.id] : above);
  }
  return pools;
}
