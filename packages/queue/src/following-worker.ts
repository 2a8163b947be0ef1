/** A worker whose slots can go on from a job to the next one (hand-over.ts) without BullMQ's loop in between. */
import { type IQueueBackend, type Job, type JobProgress, Worker } from "bullmq";
import type { BellData } from "./job-id.ts";

export class FollowingWorker<Backend extends IQueueBackend, Connection> extends Worker<
  BellData,
  null,
  string,
  Backend,
  JobProgress,
  Connection
> {
  /** It is neither closing nor paused. */
  takesMore(): boolean {
    return this.closing === undefined && !this.paused;
  }

  /** Its lock is renewed no more. */
  letGo({ id = "" }: Job<BellData>): void {
    this.lockManager.untrackJob(id);
  }

  /** Its lock is renewed. */
  hold({ id = "" }: Job<BellData>, token: string): void {
    this.lockManager.trackJob(id, token, Date.now());
  }

  /** From here on `job` is the next one: its lock is renewed, and whatever BullMQ does with the job at hand is done with it. */
  follow(job: Job<BellData>, id: string, data: BellData, token: string): void {
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
