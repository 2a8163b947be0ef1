export type { Health } from "./decide/hearing.ts";
export { appLabel, ceilingOf, type OpenWorker, type OpenWorkerParts, openWorker } from "./open-worker.ts";
export { createPerformer, type Performer, type PerformerParts } from "./perform.ts";
export { type Reaping, reapSessions } from "./reap-sessions.ts";
export {
  type FailPoint,
  type Log,
  type RunningWorker,
  startWorker,
  type WorkerParts,
} from "./worker.ts";
export { workerFailureCodes } from "./worker-failure-codes.ts";
