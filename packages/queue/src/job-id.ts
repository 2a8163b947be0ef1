/**
 * What becomes of a job in the queue: a job, with an id and ids in it.
 *
 * D1  The job id holds attempt and enqueues, so that enqueuing again is never swallowed by a kept job of an earlier enqueue, while the same
 *     enqueue twice is one job.
 */
import type { JobSpec } from "@markmill/engine";

export type JobRef = Pick<JobSpec, "activityId" | "attempt" | "enqueues">;

export function jobId({ activityId, attempt, enqueues }: JobRef): string {
  return `a${activityId}-${attempt}-${enqueues}`;
}

/** null: not one of ours. */
export function parseJobId(id: string): JobRef | null {
  const match = /^a(\d+)-(\d+)-(\d+)$/.exec(id);
  if (match === null) return null;
  return { activityId: Number(match[1]), attempt: Number(match[2]), enqueues: Number(match[3]) };
}

/** What a job holds. */
export type JobData = Pick<JobSpec, "runId" | "activityId" | "epoch">;
