export type { BackendOptions } from "./backend.ts";
export {
  type BellData,
  type BellRef,
  type Doorbell,
  jobId,
  parseJobId,
  type QueueName,
  queueNames,
} from "./doorbell.ts";
export {
  type Answer,
  type Delivered,
  type Handler,
  type LiveJob,
  openQueues,
  type Queues,
  type QueuesOptions,
  type Ring,
  type ServeOptions,
  type Serving,
} from "./open-queues.ts";
export { QueueError, type QueueErrorCode } from "./queue-error.ts";
