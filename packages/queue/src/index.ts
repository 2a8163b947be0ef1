export type { BackendOptions, WatchedQueue } from "./backend.ts";
export { type BellData, type BellRef, jobId, parseJobId } from "./job-id.ts";
export { type LiveJob, openQueues, type Queues, type QueuesOptions } from "./open-queues.ts";
export { QueueError, type QueueErrorCode, queueErrorCodes } from "./queue-error.ts";
export type { Answer, Handler, Ring, ServeOptions, Serving } from "./serve-queue.ts";
