/**
 * Lost jobs. What is ready and quiet is enqueued again only if the queue has lost it, under a new job id, so a long backlog is not doubled.
 * Lost is also what is due here and put off there (jobs are put off by the clock of the host that enqueued), and what is in the hands of a worker
 * whose lease ended long ago: it reaches the queue and not Postgres.
 */
import { jobId, type LiveJob, type Queues } from "@markmill/queue";
import { type Database, enqueueAgain, leaveQuiet, type QuietActivity, quietActivities } from "@markmill/store/machine";

/** A job that is put off by no more than this is left alone: its handler wanted it later. */
const laterMs = 5_000;
/** One that should have been delivered so long ago is not going to be. */
const overdueMs = 30_000;

export interface EnqueueLostOptions {
  /** An activity that is ready and was not enqueued for so long is looked for in the queue. */
  readonly quietMs: number;
  /** For so long a lease may be over before its holder counts as lost. */
  readonly leaseMayBeOverMs: number;
}

/** Returns how many were enqueued again: what a queue that takes no jobs has refused is lost still, and the queue has told why. */
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
  // One activity, one job: what was put off would come as well, later.
  const again = new Set(enqueued.map(({ activityId }) => activityId));
  await queues.forget(lost.filter((one) => again.has(one.activityId) && live.get(jobId(one))?.is === "delayed"));
  return enqueued.length - refused.length;
}

function isLost({ leaseOverMs }: QuietActivity, job: LiveJob | undefined, leaseMayBeOverMs: number): boolean {
  if (job === undefined) return true;
  if (job.is === "active") return leaseOverMs !== null && leaseOverMs > leaseMayBeOverMs;
  return job.is === "delayed" && (job.forMs > laterMs || job.forMs < -overdueMs);
}
