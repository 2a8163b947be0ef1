/**
 * The spending of deleted runs (table `deleted_usage`): one row per tenant, hour, definition and model. It names no run, no label and no
 * person.
 *
 * G1  A line of the account (charges.ts) counts either as a line or in a total. One statement deletes the line and adds it to the total.
 * G2  A deletion adds every line that has ended. A request that is still on its way keeps its line, which no longer names its run. The
 *     reply, the failure or `settleAbandoned` ends that line as usual; `addDeletedUsage` adds it to the total later. Until then it counts
 *     as a line.
 * G3  Rows are added in the order of their keys, so two deletions do not wait for each other.
 *
 * kill -9 at any line: each statement happened completely or not at all, so no spending is lost or counted twice.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

/** G1. Adds `lines`, deleted lines of the account with a `definition_hash`, to the totals. */
export const addingToTotals = (lines: string) => `
  insert into deleted_usage as u (tenant, hour, definition_hash, model, calls, prompt_tokens, completion_tokens, characters, nanodollars,
    unsure_calls, unsure_tokens, unsure_nanodollars)
  select tenant, date_trunc('hour', created_at, 'UTC'), definition_hash, model, count(*), sum(prompt_tokens), sum(completion_tokens),
    sum(characters), sum(nanodollars), count(*) filter (where state <> 'paid'),
    coalesce(sum(prompt_tokens + completion_tokens) filter (where state <> 'paid'), 0),
    coalesce(sum(nanodollars) filter (where state <> 'paid'), 0)
  from ${lines} group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (tenant, hour, definition_hash, model) do update set
    calls = u.calls + excluded.calls, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = u.completion_tokens + excluded.completion_tokens, characters = u.characters + excluded.characters,
    nanodollars = u.nanodollars + excluded.nanodollars, unsure_calls = u.unsure_calls + excluded.unsure_calls,
    unsure_tokens = u.unsure_tokens + excluded.unsure_tokens, unsure_nanodollars = u.unsure_nanodollars + excluded.unsure_nanodollars`;

/** G2. Returns the number of added lines. */
export async function addDeletedUsage(database: Database, limit = 1_000): Promise<number> {
  const [row] = await queryDatabase<{ lines: number }>(
    database,
    "Adding what deleted runs have spent",
    `with gone as (
       delete from charges where id in (
         select id from charges where deleted_definition is not null and state <> 'open' order by id limit $1 for update skip locked)
       returning *, deleted_definition as definition_hash
     ), added as (${addingToTotals("gone")}
     ) select count(*)::integer as lines from gone`,
    [limit],
  );
  return row?.lines ?? 0;
}
