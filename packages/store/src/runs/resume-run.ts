/** Resumes a waiting run and all runs it called. All parked activities of its tree are retried at once, with new patience. */
import type { JobSpec } from "@markmill/engine";
import { queryDatabase } from "../database/query-database.ts";
import { type Outside, resumeRun } from "./apply-event.ts";

export interface Resumed {
  /** The number of resumed runs of the tree. */
  readonly runs: number;
  readonly jobs: readonly JobSpec[];
}

/** Each run is resumed by an event of its own: after a kill in between, the next resume finds the rest. */
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
  // A run that was stopped while queued starts now.
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
