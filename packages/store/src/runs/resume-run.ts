/** A run that waits goes on, with all the runs it called: what is parked anywhere in its tree is tried at once, with new patience. */
import type { JobSpec } from "@markmill/engine";
import { queryDatabase } from "../database/query-database.ts";
import { type Outside, resumeRun } from "./apply-event.ts";

export interface Resumed {
  /** Runs of the tree that went on. */
  readonly runs: number;
  readonly jobs: readonly JobSpec[];
}

/** Each run by an event of its own: killed in between, the next resume finds the rest. */
export async function resumeTree(outside: Outside, rootId: string): Promise<Resumed> {
  const waiting = await queryDatabase<{ id: string }>(
    outside.database,
    "Looking for runs that wait",
    `select id from runs where id = $1 and status = 'stopped'
     union
     select run_id from open_activities
     where root_id = $1 and trouble is not null and state in ('ready', 'waiting')`,
    [rootId],
  );
  // One that was queued, and stopped, begins now.
  await queryDatabase(
    outside.database,
    "Taking a run out of the queue",
    "update runs set enqueued_at = clock_timestamp() where id = $1 and status = 'stopped' and enqueued_at = 'infinity'",
    [rootId],
  );
  let runs = 0;
  const jobs: JobSpec[] = [];
  for (const { id } of waiting) {
    const committed = await resumeRun(outside, id);
    if (committed.kind === "committed") runs += 1;
    jobs.push(...committed.jobs);
  }
  return { runs, jobs };
}
