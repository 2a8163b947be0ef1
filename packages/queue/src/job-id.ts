/**
 * Turns a job to enqueue into a job of the queue, with its id and its data.
 *
 * D1  The job id contains the attempt and the enqueue count. So a kept job of an earlier enqueue never swallows a new enqueue, and the same
 *     enqueue twice is one job.
 */
import type { JobSpec } from "@markmill/engine";

export type JobRef = Pick<JobSpec, "activityId" | "attempt" | "enqueues">;

export function jobId({ activityId, attempt, enqueues }: JobRef): string {
  return `a${activityId}-${attempt}-${enqueues}`;
}

/** null: not a job id of Markmill. */
export function parseJobId(id: string): JobRef | null {
  const match = /^a(\d+)-(\d+)-(\d+)$/.exec(id);
  if (match === null) return null;
  return { activityId: Number(match[1]), attempt: Number(match[2]), enqueues: Number(match[3]) };
}

/** The data of a job. */
export type JobData = Pick<JobSpec, "runId" | "activityId" | "epoch">;
