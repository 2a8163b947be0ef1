/**
 * A fork has the run's own memory as it was at the fork point: the passages that finished activities inserted, and those of runs that
 * finished calls had called. Nothing else of those called runs is copied, so their passages belong to the call, in order: a fork of the
 * fork finds them there. A named scope is shared anyway.
 */
import type { PoolClient } from "pg";

interface TakenRun {
  readonly old: string;
  readonly id: string;
}

/** `taken`: from the root down, after their activities were written. A call whose outcome was copied is finished, too. */
export async function copyPassages(client: PoolClient, taken: readonly TakenRun[]): Promise<void> {
  const [root] = taken;
  if (root === undefined) return;
  await client.query(
    `with recursive levels as (
       select * from unnest($1::text[], $2::text[]) as l(old, id)
     ), finished as (
       select o.id as old, n.id from levels l join activities o on o.run_id = l.old and o.state = 'done'
         join activities n on n.run_id = l.id and (n.node, n.generation, n.item) = (o.node, o.generation, o.item)
       where n.state = 'done' or n.outcome is not null
     ), called as (
       select r.id as run_id, f.id from runs r join finished f on f.old = r.parent_activity_id
       union all
       select r.id, c.id from called c join activities a on a.run_id = c.run_id join runs r on r.parent_activity_id = a.id
     ), inserting as (
       select old, id from finished union all select a.id, c.id from called c join activities a on a.run_id = c.run_id
     )
     insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
     select p.tenant, 'run:' || $4, $4, p.embedder, i.id, row_number() over (partition by i.id order by p.id) - 1, p.text, p.vector
     from passages p join inserting i on i.old = p.activity_id
     where p.root_id = $3 and p.scope = 'run:' || $3 order by p.id`,
    [taken.map(({ old }) => old), taken.map(({ id }) => id), root.old, root.id],
  );
}
