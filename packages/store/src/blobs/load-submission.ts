/** The whole submission of a run tree, for the worker that unpacks it. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import type { Blobs } from "./blobs.ts";

/** null: there was none. */
export async function loadSubmission(
  { database, blobs }: { readonly database: Database; readonly blobs: Blobs },
  rootId: string,
): Promise<Buffer | null> {
  const rows = await queryDatabase<{ tenant: string; hash: string | null }>(
    database,
    "Reading a submission",
    "select tenant, submission ->> 'blob' as hash from runs where id = $1",
    [rootId],
  );
  const [run] = rows;
  return run === undefined || run.hash === null ? null : blobs.load(run.tenant, run.hash);
}
