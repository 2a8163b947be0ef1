export type { Health } from "./decide/hearing.ts";
export { appLabel, ceilingOf, type OpenWorker, type OpenWorkerParts, openWorker } from "./open-worker.ts";
export type { Performer, PerformerParts } from "./perform.ts";
export { type Reaping, reapSessions } from "./reap-sessions.ts";
export type {
  FailPoint,
  Log,
  RunningWorker,
  WorkerParts,
} from "./worker.ts";
export { workerFailureCodes } from "./worker-failure-codes.ts";
