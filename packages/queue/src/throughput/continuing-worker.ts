/**
 * A worker whose slots can continue from one job to the next (hand-over.ts) without BullMQ's loop in between.
 *
 * If the server refuses (memory or disk is full, a replica, no permission), BullMQ's loop asks for the next job again at once. That would
 * occupy a whole core and write megabytes of log in seconds. This worker rests after a failed fetch. Its whole queue waits meanwhile. So
 * after a conflict between two processes it rests only for a moment: the next fetch will probably succeed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type IQueueBackend, type Job, type JobProgress, Worker } from "bullmq";
import type { JobData } from "../job-id.ts";
import { translate } from "../queue-error.ts";

/** In milliseconds. */
export function restAfter(error: unknown): number {
  return translate(error, "Fetching a job").code === "QUEUE_CONTENDED" ? 20 : 1_000;
}

export class ContinuingWorker<Backend extends IQueueBackend, Connection> extends Worker<
  JobData,
  null,
  string,
  Backend,
  JobProgress,
  Connection
> {
  protected override async moveToActive(token: string, name?: string) {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      if (this.takesMore()) await sleep(restAfter(error));
      throw error;
    }
  }

  /** The worker is neither closing nor paused. */
  takesMore(): boolean {
    return this.closing === undefined && !this.paused;
  }

  /** Stops renewing the lock of the job. */
  letGo({ id = "" }: Job<JobData>): void {
    this.lockManager.untrackJob(id);
  }

  /** Begins to renew the lock of the job. */
  hold({ id = "" }: Job<JobData>, token: string): void {
    this.lockManager.trackJob(id, token, Date.now());
  }

  /** From here on `job` is the next one: its lock is renewed, and all operations of BullMQ on the current job apply to it. */
  follow(job: Job<JobData>, id: string, data: JobData, token: string): void {
    const now = Date.now();
    job.id = id;
    job.data = data;
    job.timestamp = now;
    job.processedOn = now;
    job.attemptsStarted = 1;
    job.attemptsMade = 0;
    job.stalledCounter = 0;
    job.stacktrace = [];
    this.hold(job, token);
  }
}
