/**
 * Deletes blobs that no run and no sandbox session names any more, and budgets of runs that were never created. (The server writes
 * `blob_references` together with every row that names a blob.) Both are written before the rows that name them, so only old ones are
 * deleted. The age is checked again under the row's lock: storing or naming the bytes meanwhile resets their age. Then objects that no blob
 * names are deleted (blobs.ts).
 *
 * Keys that block the creation of runs of a deleted batch are deleted at the same age: no process still tries to create a run that it
 * looked up so long ago.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import type { Blobs } from "./blobs.ts";

const text = `
with old as materialized (
  select b.tenant, b.hash from blobs b
  where b.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
    and not exists (select 1 from blob_references n where n.tenant = b.tenant and n.hash = b.hash)
  order by b.created_at limit $2 for update of b skip locked
), d1 as (
  delete from blobs b using old o where b.tenant = o.tenant and b.hash = o.hash returning b.place, b.object
), loose as (
  insert into loose_objects (object, place, due) select object, place, clock_timestamp() from d1 where object is not null
), d2 as (
  delete from budgets where (tenant, id) in (
    select b.tenant, b.id from budgets b
    where b.for_run and b.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
      and not exists (select 1 from runs r where r.id = b.id)
    order by b.created_at limit $2)
  returning 1
), d3 as (
  delete from idempotency_keys where (tenant, key) in (
    select k.tenant, k.key from idempotency_keys k
    where k.request_hash is null and k.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
      and not exists (select 1 from runs r where r.id = k.run_id)
    order by k.created_at limit $2)
  returning 1
) select (select count(*) from d1)::integer + (select count(*) from d2)::integer + (select count(*) from d3)::integer as deleted`;

/** Returns the numbers of deleted blobs, budgets and keys. */
export async function deleteOrphans(
  { database, blobs }: { readonly database: Database; readonly blobs: Blobs },
  olderThanMs: number,
  limit = 1_000,
): Promise<number> {
  const rows = await queryDatabase<{ deleted: number }>(database, "Deleting orphans", text, [olderThanMs, limit]);
  await blobs.deleteLoose();
  return rows[0]?.deleted ?? 0;
}
