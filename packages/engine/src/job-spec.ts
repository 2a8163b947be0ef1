/**
 * A job is the message that an activity is ready. It contains ids only: names, code and prompts never reach the queue. The store creates
 * the jobs to enqueue; the queue enqueues them and delivers them to a worker.
 *
 * The queue `supervisor` exists for dashboards and counts. It never receives a job: the supervisor reads rows by the database's clock.
 */
export const queueNames = ["control", "prompt", "execute", "supervisor"] as const;
export type QueueName = (typeof queueNames)[number];
/** The queues that contain work. */
export type WorkQueue = Exclude<QueueName, "supervisor">;

export interface JobSpec {
  readonly queue: QueueName;
  readonly runId: string;
  readonly activityId: number;
  readonly epoch: number;
  readonly attempt: number;
  /** How often this activity was enqueued, this time included. */
  readonly enqueues: number;
  /** 0 means now. */
  readonly delayMs: number;
  /** Id of the control-queue job of the CALL that waits for this activity's run. null: no CALL waits. */
  readonly parentJob: string | null;
}

/** A job that reached a worker. */
export interface Delivery extends Omit<JobSpec, "delayMs" | "parentJob"> {
  readonly jobId: string;
  /** How often a worker was lost while it had this job. Absent means never. */
  readonly stalled?: number;
}
