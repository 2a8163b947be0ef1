export type { BackendOptions } from "./backend.ts";
export { type BellData, type BellRef, jobId } from "./job-id.ts";
export { type LiveJob, openQueues, type Queues, type QueuesOptions } from "./open-queues.ts";
export { QueueError, type QueueErrorCode, queueErrorCodes } from "./queue-error.ts";
export type { Answer, Handler, Ring, ServeOptions, Serving } from "./serve-queue.ts";
