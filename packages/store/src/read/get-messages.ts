/** Conversations. */
import type { Role } from "@markmill/engine";
import type { Database } from "../database.ts";
import { alone, gathered, promptLingerMs } from "../gathered.ts";
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
  const { messages, bytes } = await readThreads(database, [thread], mostBytes);
  if (bytes > mostBytes) {
    throw new StoreError("STORE_TOO_LARGE", `The conversation has ${bytes} bytes; at most ${mostBytes} are sent.`);
  }
  return messages.get(thread) ?? [];
}

/** The same; conversations that are asked for together are read by one statement, unless they are too long together. */
export function createGetMessages(
  database: Database,
  mostBytes: number,
): (thread: string) => Promise<readonly ThreadMessage[]> {
  return gathered(
    async (threads: readonly string[]) => {
      const [thread, ...others] = threads;
      if (thread !== undefined && others.length === 0) return [await getMessages(database, thread, mostBytes)];
      const { messages, bytes } = await readThreads(database, threads, mostBytes);
      return threads.map((one) => (bytes > mostBytes ? alone : (messages.get(one) ?? [])));
    },
    { lingerMs: promptLingerMs },
  );
}

/** `bytes`: of all of them; beyond `mostBytes` the messages have no texts. */
async function readThreads(database: Database, threads: readonly string[], mostBytes: number) {
  type Row = ThreadMessage & { readonly thread: string; readonly bytes: number };
  const rows = await queryHot<Row>(
    database,
    "Reading a conversation",
    "conversations",
    `select told.thread, told.id, told.role, case when told.bytes <= $2::float8 then told.text else '' end as text,
       told.run_id as "runId", told.activity_id as "activityId", told.bytes
     from (
       select m.*, (sum(octet_length(m.text)) over ())::float8 as bytes
       from unnest($1::text[]) as asked(thread)
         cross join lateral (select * from messages where thread = asked.thread offset 0) m) told
     order by told.id`,
    [[...new Set(threads)], mostBytes],
  );
  const messages = new Map<string, ThreadMessage[]>();
  for (const { bytes: _, thread, ...message } of rows) {
    const known = messages.get(thread);
    if (known === undefined) messages.set(thread, [message]);
    else known.push(message);
  }
  return { messages, bytes: rows[0]?.bytes ?? 0 };
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
