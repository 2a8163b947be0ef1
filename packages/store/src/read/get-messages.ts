/** Reads conversations. */
import type { Role } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase, queryHot } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { alone, gathered, promptLingerMs } from "../throughput/gathered.ts";

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

/** Returns messages, oldest first. A conversation of more than `mostBytes` is refused before it is read. */
export async function getMessages(
  database: Database,
  thread: string,
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<readonly ThreadMessage[]> {
  type Row = ThreadMessage & { readonly bytes: number };
  const rows = await queryHot<Row>(
    database,
    "Reading a conversation",
    "conversation",
    `select told.id, told.role, case when told.bytes <= $2::float8 then told.text else '' end as text,
       told.run_id as "runId", told.activity_id as "activityId", told.bytes
     from (select m.*, (sum(octet_length(m.text)) over ())::float8 as bytes from messages m where m.thread = $1) told
     order by told.id`,
    [thread, mostBytes],
  );
  refuseTooLong(rows[0]?.bytes ?? 0, mostBytes);
  return rows.map(({ bytes: _, ...message }) => message);
}

/** The parts of a message that a model gets. */
export type Said = Pick<ThreadMessage, "role" | "text">;

/**
 * The messages of a thread, oldest first, with the same limit. Conversations that are requested together are read by one statement, unless
 * they are too long together. Each conversation is one row, because a row per message would take most of the time.
 */
export function createReadConversation(
  database: Database,
  mostBytes: number,
): (thread: string) => Promise<readonly Said[]> {
  interface Row {
    readonly thread: string;
    readonly bytes: number;
    /** null: they are too long together. */
    readonly said: readonly (readonly [role: Said["role"], text: string])[] | null;
  }
  return gathered(
    async (threads: readonly string[]) => {
      const rows = await queryHot<Row>(
        database,
        "Reading a conversation",
        "conversations",
        `with asked as materialized (
           select a.thread, m.bytes from unnest($1::text[]) as a(thread)
             cross join lateral (
               select sum(octet_length(text))::float8 as bytes from messages where thread = a.thread offset 0) m
           where m.bytes is not null
         )
         select a.thread, a.bytes, case when (select sum(bytes) from asked) <= $2::float8 then (
             select json_agg(json_build_array(m.role, m.text) order by m.id) from messages m where m.thread = a.thread) end as said
         from asked a`,
        [[...new Set(threads)], mostBytes],
      );
      const byThread = new Map(rows.map((row) => [row.thread, row]));
      if (threads.length === 1) refuseTooLong(rows[0]?.bytes ?? 0, mostBytes);
      return threads.map((thread) => {
        const row = byThread.get(thread);
        if (row === undefined) return [];
        return row.said === null ? alone : row.said.map(([role, text]) => ({ role, text }));
      });
    },
    { lingerMs: promptLingerMs, plain: database.plain },
  );
}

function refuseTooLong(bytes: number, mostBytes: number): void {
  if (bytes <= mostBytes) return;
  throw new StoreError("STORE_TOO_LARGE", `The conversation has ${bytes} bytes; at most ${mostBytes} are sent.`);
}

/** The threads that a run opened. */
export async function getThreads(database: Database, runId: string): Promise<readonly Thread[]> {
  return queryDatabase<Thread>(
    database,
    "Reading threads",
    `select id, run_id as "runId", agent from threads where run_id = $1 order by created_at, id`,
    [runId],
  );
}
