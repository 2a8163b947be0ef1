/**
 * What becomes of a doorbell in the queue: a job, with an id and ids in it.
 *
 * D1  The job id holds attempt and rings, so that ringing again is never swallowed by a kept job of an earlier ring, while the same
 *     ring twice is one job.
 */
import type { Doorbell } from "@markmill/engine";

export type BellRef = Pick<Doorbell, "activityId" | "attempt" | "rings">;

export function jobId({ activityId, attempt, rings }: BellRef): string {
  return `a${activityId}-${attempt}-${rings}`;
}

/** null: not one of ours. */
export function parseJobId(id: string): BellRef | null {
  const match = /^a(\d+)-(\d+)-(\d+)$/.exec(id);
  if (match === null) return null;
  return { activityId: Number(match[1]), attempt: Number(match[2]), rings: Number(match[3]) };
}

/** What a job holds. */
export type BellData = Pick<Doorbell, "runId" | "activityId" | "epoch">;
