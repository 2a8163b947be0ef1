/**
 * A worker whose slots can go on from a job to the next one (hand-over.ts) without BullMQ's loop in between.
 *
 * BullMQ's loop asks for the next job again at once when the server refuses (memory or disk is full, a replica, no permission). That would take
 * a whole core and write megabytes of log in seconds. Here it rests after a fetch that failed. The whole queue of this worker waits meanwhile, so
 * it rests only for a moment where two processes were in each other's way: the next fetch is likely to pass.
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

  /** It is neither closing nor paused. */
  takesMore(): boolean {
    return this.closing === undefined && !this.paused;
  }

  /** Its lock is renewed no more. */
  letGo({ id = "" }: Job<JobData>): void {
    this.lockManager.untrackJob(id);
  }

  /** Its lock is renewed. */
  hold({ id = "" }: Job<JobData>, token: string): void {
    this.lockManager.trackJob(id, token, Date.now());
  }

  /** From here on `job` is the next one: its lock is renewed, and whatever BullMQ does with the job at hand is done with it. */
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
