export { answerThreadCalls } from "./answer-thread-calls.ts";
export { startThread } from "./start-thread.ts";
export { createThreadCalls, ThreadCallFailed } from "./thread-calls.ts";
