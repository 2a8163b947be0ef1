import { parentPort } from "node:worker_threads";
import type { Functions, ThreadAnswer, ThreadCall } from "./thread-calls.ts";

/** The thread's side of thread-calls.ts. */
export function answerThreadCalls(functions: Functions): void {
  parentPort?.on("message", async ({ id, name, args }: ThreadCall) => {
    let answer: ThreadAnswer;
    try {
      answer = { id, value: await functions[name]?.(...args) };
    } catch (error) {
      const { name: kind, message } = error instanceof Error ? error : new Error(String(error));
      answer = { id, failed: message, name: kind };
    }
    parentPort?.postMessage(answer);
  });
}
