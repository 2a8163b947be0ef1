/**
 * A doorbell says that an activity is ready. It carries ids only: no names, no code, no prompts reach the queue.
 *
 * D1  The job id holds attempt and rings, so that ringing again is never swallowed by a kept job of an earlier ring, while the same
 *     ring twice is one job.
 *
 * The queue `supervisor` is there for boards and counts; nothing is rung in it: the supervisor looks at rows, by the database's clock.
 */
export const queueNames = ["control", "prompt", "execute", "supervisor"] as const;
export type QueueName = (typeof queueNames)[number];

export interface Doorbell {
  readonly queue: QueueName;
  readonly runId: string;
  readonly activityId: number;
  readonly epoch: number;
  readonly attempt: number;
  /** How often this activity was rung, this time included. */
  readonly rings: number;
  /** 0: now. */
  readonly delayMs: number;
  /** Job id of the CALL this activity's run answers, in the control queue; null: none. */
  readonly parentJob: string | null;
}

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
export interface BellData {
  readonly runId: string;
  readonly activityId: number;
  readonly epoch: number;
}
