/**
 * The workspace of a fork: the files as commands had left them at the fork point. At most two states of a workspace are kept
 * (checkpoints.ts), so an earlier point has none. The fork is then refused, because commands must not run on files that may be wrong.
 */

import { randomUUID } from "node:crypto";
import type { ActivityRef } from "@markmill/engine";
import type { PoolClient } from "pg";
import { changesFiles, waitsForCallee } from "../commit/kinds-sql.ts";
import { itemToColumn } from "../commit/run-row.ts";
import { StoreError } from "../database/store-error.ts";
import { markedCall } from "../sessions/checkpoints.ts";

export interface TakenRun {
  readonly old: string;
  readonly id: string;
  /** The last event that is copied. */
  readonly seq: number;
  /** The activities that are repeated with the results of their earlier tool calls. */
  readonly again: readonly Pick<ActivityRef, "node" | "generation" | "item">[];
}

/** The runs whose changes are copied, and up to which event: the forked runs, and the runs they had called that had returned. */
export const heardRuns = `
forked as (
  select * from json_to_recordset($1::json) as x(old text, seq bigint)
), heard as (
  select old as run_id, seq as until from forked
  union
  select c.id, 9223372036854775807 from heard h
    join activities a on a.run_id = h.run_id and ${waitsForCallee("a")} and a.seq <= h.until
    join runs c on c.parent_activity_id = a.id and c.id not in (select old from forked)
)`;

/** Copied tool calls count even if the activity has not begun. */
const begun = (alias: string) => `(${alias}.seq is not null or ${alias}.claim > 0)`;

/** Activities that changed files, or may have. Commands of a judge run in another session. */
const changes = `
with recursive ${heardRuns}, again as (
  select x.old as run_id, y.* from json_to_recordset($1::json) as x(old text, again json),
    json_to_recordset(x.again) as y(node text, generation integer, item integer)
), acting as (
  select a.*, coalesce(a.seq <= h.until, false) as heard
  from runs r join activities a on a.run_id = r.id left join heard h on h.run_id = r.id
  where r.id = $2 or (r.root_id = $2 and r.root_id <> r.id)
)
select a.id, a.node, null as call, a.heard as kept from acting a where ${begun("a")} and ${changesFiles("a")}
union all
select a.id, a.node, ${markedCall("t")}, a.heard or (t.state <> 'begun' and exists (
    select 1 from again g where g.run_id = a.run_id and g.node = a.node and g.generation = a.generation and g.item = a.item))
from acting a join tool_calls t on t.activity_id = a.id and t.in_session
order by id`;

/**
 * For a run that is itself a fork: did it copy files, and did any of them change between its fork point and the point of the new fork? Its
 * own rows do not show this: tool calls and called runs stay with the origin run, which may also be a fork. If a run was deleted, its files
 * count as changed.
 */
const changesBefore = `
with recursive ${heardRuns}, forks as (
  select r.id as run_id, max((e.body::json ->> 'seq')::bigint) as until
  from runs r join events e on e.run_id = r.id and e.type = 'run.forked'
  where (r.id = $2 or (r.root_id = $2 and r.root_id <> r.id)) and e.body::json ->> 'files' = 'true' group by r.id
), missed(run_id, after, until) as (
  select f.run_id, coalesce(h.until, 0), f.until from forks f left join heard h on h.run_id = f.run_id
  where coalesce(h.until, 0) < f.until
  union
  select x.run_id, x.after, x.until from missed m cross join lateral (
    select r.forked_from as run_id, m.after, least(m.until, f.seq) as until
    from runs r cross join lateral (
      select max((e.body::json ->> 'seq')::bigint) as seq from events e where e.run_id = r.id and e.type = 'run.forked'
    ) f where r.id = m.run_id and f.seq > m.after
    union all
    select c.id, 0, 9223372036854775807 from activities a join runs c on c.parent_activity_id = a.id
    where a.run_id = m.run_id and ${waitsForCallee("a")} and a.seq > m.after and a.seq <= m.until
  ) x
)
select exists (select 1 from forks where run_id = $2) as took, exists (
  select 1 from missed m left join runs r on r.id = m.run_id
    left join activities a on a.run_id = m.run_id and coalesce(a.seq, m.until) > m.after and coalesce(a.seq, 9223372036854775807) <= m.until
  where r.id is null or (${begun("a")} and ${changesFiles("a")})
    or exists (select 1 from tool_calls t where t.activity_id = a.id and t.in_session)
) as changed`;

/** One EXECUTE, one file that was written, or one tool call. */
interface Change {
  readonly id: number;
  readonly node: string;
  readonly call: string | null;
  readonly kept: boolean;
}

/** Returns whether there was a workspace to copy. */
export async function copyWorkspace(client: PoolClient, runs: readonly TakenRun[]): Promise<boolean> {
  const [root] = runs;
  if (root === undefined) return false;
  const taken = runs.map(({ again, ...run }) => ({
    ...run,
    again: again.map(({ item, ...ref }) => ({ ...ref, item: itemToColumn(item) })),
  }));
  const asked = [JSON.stringify(taken), root.old];
  const { rows } = await client.query<Change>(changes, asked);
  const [later, ...more] = rows.filter(({ kept }) => !kept);
  const last = rows.findLast(({ kept }) => kept);
  const before = (await client.query<{ took: boolean; changed: boolean }>(changesBefore, asked)).rows[0];
  if (last === undefined && before?.took !== true) return false;
  if (before?.changed === true) {
    throw new StoreError("STORE_NO_FORK", "The files from before the fork of the run are no longer stored.");
  }
  const name = later === undefined ? "latest" : "begun";
  const copied = await client.query(
    `insert into session_marks (session_id, name, activity_id, position, problem, settled, state, instance, processes, manifest, seal)
     select $1, 'latest', null, position, null, true, state, instance, '[]', manifest, $5
     from session_marks where session_id = $2 and name = $3 and problem is null
       and (name = 'begun' or settled) and ($4::bigint is null or (activity_id = $4 and call is not distinct from $6))`,
    [root.id, root.old, name, later?.id ?? null, randomUUID(), later?.call ?? null],
  );
  if (more.length > 0 || copied.rowCount !== 1) {
    const whose = last === undefined ? "the run it was forked from" : last.node;
    throw new StoreError("STORE_NO_FORK", `The files as ${whose} left them are no longer stored.`);
  }
  await client.query(
    `with heads as (
       insert into checkpoints (session_id, position, whole, removed, size)
       select $1, position, whole, removed, size from checkpoints where session_id = $2
     )
     insert into checkpoint_parts (session_id, position, part, bytes)
     select $1, position, part, bytes from checkpoint_parts where session_id = $2`,
    [root.id, root.old],
  );
  return true;
}
