/**
 * A job says that an activity is ready. It carries ids only: no names, no code, no prompts reach the queue. The store makes them, the
 * queue enqueues them and delivers them to a worker.
 *
 * The queue `supervisor` is there for boards and counts; nothing is enqueued in it: the supervisor looks at rows, by the database's clock.
 */
export const queueNames = ["control", "prompt", "execute", "supervisor"] as const;
export type QueueName = (typeof queueNames)[number];
/** Those that hold work. */
export type WorkQueue = Exclude<QueueName, "supervisor">;

export interface JobSpec {
  readonly queue: QueueName;
  readonly runId: string;
  readonly activityId: number;
  readonly epoch: number;
  readonly attempt: number;
  /** How often this activity was enqueued, this time included. */
  readonly enqueues: number;
  /** 0: now. */
  readonly delayMs: number;
  /** Job id of the CALL this activity's run answers, in the control queue; null: none. */
  readonly parentJob: string | null;
}

/** A job that reached a worker. */
export interface Delivery extends Omit<JobSpec, "delayMs" | "parentJob"> {
  readonly jobId: string;
  /** How often a worker was lost with this job; absent: never. */
  readonly stalled?: number;
}
