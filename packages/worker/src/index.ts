export { appLabel, ceilingOf, openWorker } from "./open-worker.ts";
export { reapSessions } from "./reap-sessions.ts";
export { workerFailureCodes } from "./worker-failure-codes.ts";
