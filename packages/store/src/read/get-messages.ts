/** Conversations. */
import type { Role } from "@markmill/engine";
import { askDatabase } from "../ask-database.ts";
import type { Database } from "../database.ts";

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

/** Oldest first. */
export async function getMessages(database: Database, thread: string): Promise<readonly ThreadMessage[]> {
  return askDatabase<ThreadMessage>(
    database,
    "Reading a conversation",
    `select id, role, text, run_id as "runId", activity_id as "activityId" from messages where thread = $1 order by id`,
    [thread],
  );
}

/** Threads a run opened. */
export async function getThreads(database: Database, runId: string): Promise<readonly Thread[]> {
  return askDatabase<Thread>(
    database,
    "Reading threads",
    `select id, run_id as "runId", agent from threads where run_id = $1 order by created_at, id`,
    [runId],
  );
}
