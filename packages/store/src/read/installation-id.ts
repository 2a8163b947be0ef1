import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

/** Identifies this database among all others: the time of its first migration. All processes that share the database get the same value. */
export async function installationId(database: Database): Promise<string> {
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Reading the database's identity",
    "select substr(md5(current_database() || min(applied_at)::text), 1, 12) as id from markmill.migrations",
    [],
  );
  return rows[0]?.id ?? "unknown";
}
