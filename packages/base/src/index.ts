export { isSystemError } from "./errors/is-system-error.ts";
export {
  identifyProcess,
  isAlive,
  ownIdentity,
  type ProcessIdentity,
  type ProcessStat,
  readIdentity,
  readProcessStat,
  writeIdentity,
} from "./processes/process-identity.ts";
export { doubling, mayPass, type Patience, patiently } from "./retry/patiently.ts";
export { answerThreadCalls } from "./threads/answer-thread-calls.ts";
export { startThread } from "./threads/start-thread.ts";
export { createThreadCalls, ThreadCallFailed } from "./threads/thread-calls.ts";
