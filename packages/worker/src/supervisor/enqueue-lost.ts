/**
 * Recovers lost jobs. A ready activity that was not enqueued for a while is enqueued again, under a new job id, only if the queue has lost
 * its job. So a long backlog is not doubled. Two more jobs count as lost. The first is due by the database but still delayed in the queue
 * (jobs are delayed by the clock of the host that enqueued them). The second is held by a worker whose lease ended long ago: that worker
 * reaches the queue but not Postgres.
 */
import { jobId, type LiveJob, type Queues } from "@markmill/queue";
import { type Database, enqueueAgain, leaveQuiet, type QuietActivity, quietActivities } from "@markmill/store/machine";

/** A job with a delay of at most this is left alone: its handler asked for the delay. */
const laterMs = 5_000;
/** A job this long overdue will never be delivered. */
const overdueMs = 30_000;

export interface EnqueueLostOptions {
  /** An activity that is ready and was not enqueued for this time is checked in the queue. */
  readonly quietMs: number;
  /** If a lease has been over for this time, its worker counts as lost. */
  readonly leaseMayBeOverMs: number;
}

/** Returns how many jobs were enqueued again. Jobs that the queue refused are still lost, and the queue has reported why. */
export async function enqueueLost(
  database: Database,
  queues: Queues,
  { quietMs, leaseMayBeOverMs }: EnqueueLostOptions,
): Promise<number> {
  const quiet = await quietActivities(database, quietMs);
  if (quiet.length === 0) return 0;
  const live = await queues.live(quiet);
  const { lost = [], left = [] } = Object.groupBy(quiet, (one) =>
    isLost(one, live.get(jobId(one)), leaseMayBeOverMs) ? "lost" : "left",
  );
  await leaveQuiet(database, left);
  if (lost.length === 0) return 0;
  const enqueued = await enqueueAgain(database, lost);
  const refused = await queues.enqueue(enqueued);
  // One activity, one job: the delayed job would be delivered as well, later.
  const again = new Set(enqueued.map(({ activityId }) => activityId));
  await queues.forget(lost.filter((one) => again.has(one.activityId) && live.get(jobId(one))?.is === "delayed"));
  return enqueued.length - refused.length;
}

function isLost({ leaseOverMs }: QuietActivity, job: LiveJob | undefined, leaseMayBeOverMs: number): boolean {
  if (job === undefined) return true;
  if (job.is === "active") return leaseOverMs !== null && leaseOverMs > leaseMayBeOverMs;
  return job.is === "delayed" && (job.forMs > laterMs || job.forMs < -overdueMs);
}
