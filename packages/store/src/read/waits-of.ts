/** The external causes that runs wait for: endpoints in trouble, or, once patience is over, a resume by a person. */
import type { Parked } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface Wait {
  readonly rootId: string;
  readonly runId: string;
  readonly node: string;
  readonly parked: Parked;
  /** null: not before the run is resumed. */
  readonly nextTry: Date | null;
}

/** For whole trees, by their roots. Oldest first. */
export async function waitsOf(database: Database, rootIds: readonly string[]): Promise<readonly Wait[]> {
  if (rootIds.length === 0) return [];
  return queryDatabase<Wait>(
    database,
    "Looking for what runs wait for",
    `select a.root_id as "rootId", a.run_id as "runId", a.node, a.trouble as parked, a.not_before as "nextTry"
     from open_activities a where a.root_id = any($1) and a.trouble is not null
     order by (a.trouble ->> 'since')::float8, a.id`,
    [rootIds],
  );
}
