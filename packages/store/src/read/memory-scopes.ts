/**
 * Named scopes of a tenant, for people: lists, contents and deletion. A run's own passages are deleted with the run (../delete-runs.ts) and
 * are not handled here.
 *
 * kill -9 while a scope is deleted: a part of it is left and listed, and the next deletion removes it.
 */
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import type { PageRequest } from "./list-definitions.ts";
import { keyOf, type Page } from "./pages.ts";

export interface MemoryScope {
  readonly name: string;
  readonly passages: number;
  readonly characters: number;
  /** Runs that inserted its passages. */
  readonly runs: number;
  readonly embedders: readonly string[];
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Sorted by name. */
export async function scopePage(
  database: Database,
  tenant: string,
  { after, limit = 50 }: PageRequest = {},
): Promise<Page<MemoryScope>> {
  const rows = await queryDatabase<MemoryScope>(
    database,
    "Listing scopes",
    `select substr(scope, 7) as name, count(*) as passages, sum(char_length(text)) as characters, count(distinct root_id) as runs,
       array_agg(distinct embedder) as embedders, min(created_at) as "firstAt", max(created_at) as "lastAt"
     from passages where tenant = $1 and starts_with(scope, 'named:') and ($2::text is null or scope > 'named:' || $2)
     group by scope order by passages.scope limit $3`,
    [tenant, after ?? null, limit + 1],
  );
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1)?.name ?? null) : null };
}

export interface StoredPassage {
  readonly id: number;
  readonly text: string;
  /** The root run that inserted it. The passage is deleted with that run. */
  readonly runId: string;
  readonly embedder: string;
  readonly createdAt: Date;
}

/** In the order of insertion. */
export async function passagePage(
  database: Database,
  tenant: string,
  name: string,
  { after = "0", limit = 50 }: PageRequest = {},
): Promise<Page<StoredPassage>> {
  const [, id] = keyOf(after, /^(\d{1,15})$/);
  const rows = await queryDatabase<StoredPassage>(
    database,
    "Listing passages",
    `select id, text, root_id as "runId", embedder, created_at as "createdAt" from passages
     where tenant = $1 and scope = 'named:' || $2 and id > $3 order by id limit $4`,
    [tenant, name, id, limit + 1],
  );
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? String(items.at(-1)?.id) : null };
}

/** In one statement, so that each statement is short. */
const deletedTogether = 2_000;

/** Passages that are inserted meanwhile stay. false: the scope does not exist. */
export async function deleteScope(database: Database, tenant: string, name: string): Promise<boolean> {
  const of = [tenant, `named:${name}`];
  const [last] = await queryDatabase<{ id: number | null }>(
    database,
    "Looking at a scope",
    "select max(id) as id from passages where tenant = $1 and scope = $2",
    of,
  );
  if (last === undefined || last.id === null) return false;
  // Repeat until nothing is left. If another process deletes at the same time, a piece may be short although more remains.
  for (let left = true; left; ) {
    await queryDatabase(
      database,
      "Deleting a scope",
      `delete from passages where id in (
         select id from passages where tenant = $1 and scope = $2 and id <= $3 limit $4
       )`,
      [...of, last.id, deletedTogether],
    );
    const rows = await queryDatabase(
      database,
      "Looking at a scope",
      "select 1 as left from passages where tenant = $1 and scope = $2 and id <= $3 limit 1",
      [...of, last.id],
    );
    left = rows.length > 0;
  }
  return true;
}
