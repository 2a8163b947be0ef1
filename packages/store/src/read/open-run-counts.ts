import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

/** The number of open runs of the whole installation, by status: numbers only. */
export async function openRunCounts(
  database: Database,
): Promise<readonly { readonly status: string; readonly runs: number }[]> {
  return queryDatabase(
    database,
    "Counting open runs",
    "select status, count(*)::integer as runs from runs where status in ('created', 'doing', 'stopped') group by status order by status",
  );
}
