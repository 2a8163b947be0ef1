/**
 * Finds whole ids for a part of one. An id begins with its time, so people see its end: four characters of an end are enough for a search.
 * The beginning is the same for all ids of a minute, so fewer than eight characters of it identify nothing.
 *
 * Both searches are ranges of an index, for any number of rows: of the primary key for a beginning, of the reversed ids for an end.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

const fewestOfEnd = 4;
const fewestOfBeginning = 8;
const lowest = "00000000-0000-0000-0000-000000000000";
const highest = lowest.replaceAll("0", "f");

/** Returns at most `limit` ids of this tenant. */
export async function idsWith(
  database: Database,
  table: "runs" | "batches",
  tenant: string,
  part: string,
  limit = 100,
): Promise<readonly string[]> {
  const wanted = part.toLowerCase();
  if (!/^[0-9a-f-]+$/.test(wanted) || wanted.length < fewestOfEnd || wanted.length > lowest.length) return [];
  const backwards = Array.from(wanted).reverse().join("");
  // All ids have their dashes at the same places, so whole ids have the same order under every collation.
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Looking for an id",
    `(select id from ${table} where $6 and id between $2 and $3 and starts_with(id, $4) and tenant = $1 limit $7)
     union
     (select id from ${table} where tenant = $1 and reverse(id) collate "C" >= $5 and reverse(id) collate "C" < $5 || 'g' limit $7)
     limit $7`,
    [
      ...[tenant, wanted + lowest.slice(wanted.length), wanted + highest.slice(wanted.length), wanted, backwards],
      ...[wanted.length >= fewestOfBeginning, limit],
    ],
  );
  return rows.map(({ id }) => id);
}
