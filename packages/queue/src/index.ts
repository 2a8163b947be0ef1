export type { BackendOptions, WatchedQueue } from "./backend.ts";
export { type JobData, jobId, parseJobId } from "./job-id.ts";
export { type LiveJob, openQueues, type Queues } from "./open-queues.ts";
export { QueueError, type QueueErrorCode, queueErrorCodeOf, queueErrorCodes } from "./queue-error.ts";
export type { Answer, Enqueue, Handler, Serving, Slot } from "./serve-queue.ts";
