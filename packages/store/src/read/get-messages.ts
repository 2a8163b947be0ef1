/** Conversations. */
import type { Role } from "@markmill/engine";
import type { Database } from "../database.ts";
import { queryDatabase, queryHot } from "../query-database.ts";
import { StoreError } from "../store-error.ts";

export interface ThreadMessage {
  readonly id: number;
  readonly role: Role;
  readonly text: string;
  readonly runId: string;
  readonly activityId: number | null;
}

export interface Thread {
  readonly id: string;
  readonly runId: string;
  readonly agent: string;
}

/** Oldest first. A conversation of more than `mostBytes` is refused before it is read. */
export async function getMessages(
  database: Database,
  thread: string,
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<readonly ThreadMessage[]> {
  const rows = await queryHot<ThreadMessage & { readonly bytes: number }>(
    database,
    "Reading a conversation",
    "conversation",
    `select id, role, case when bytes <= $2::float8 then text else '' end as text, run_id as "runId", activity_id as "activityId", bytes
     from (select *, (sum(octet_length(text)) over ())::float8 as bytes from messages where thread = $1) told order by id`,
    [thread, mostBytes],
  );
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes > mostBytes) {
    throw new StoreError("STORE_TOO_LARGE", `The conversation has ${bytes} bytes; at most ${mostBytes} are sent.`);
  }
  return rows.map(({ bytes: _, ...message }) => message);
}

/** Threads a run opened. */
export async function getThreads(database: Database, runId: string): Promise<readonly Thread[]> {
  return queryDatabase<Thread>(
    database,
    "Reading threads",
    `select id, run_id as "runId", agent from threads where run_id = $1 order by created_at, id`,
    [runId],
  );
}
