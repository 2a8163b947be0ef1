import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

/** Names this database among all others, and is the same for all processes that share it: when it was first migrated. */
export async function installationId(database: Database): Promise<string> {
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Reading the database's identity",
    "select substr(md5(current_database() || min(applied_at)::text), 1, 12) as id from markmill.migrations",
    [],
  );
  return rows[0]?.id ?? "unknown";
}
