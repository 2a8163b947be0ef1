export type { BackendOptions } from "./backend.ts";
export {
  type BellData,
  type BellRef,
  type Doorbell,
  jobId,
  type QueueName,
} from "./doorbell.ts";
export { type LiveJob, openQueues, type Queues, type QueuesOptions } from "./open-queues.ts";
export { QueueError, type QueueErrorCode } from "./queue-error.ts";
export type { Answer, Delivered, Handler, Ring, ServeOptions, Serving } from "./serve-queue.ts";
