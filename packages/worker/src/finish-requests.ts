/**
 * A request that has left is paid for. If the lease of its activity is lost meanwhile (the connection to Postgres was away for too long), the
 * request goes on, and its reply is stored for the worker that has the activity now. It also goes on in a worker that hears nothing and gives
 * up. A request that has not left yet is given up, and a cancel, a stop or a shutdown gives up both.
 */
import { heardSlot, type ModelClient, noLimit } from "@markmill/llm";

/** Why an activity is given up: somebody else has it. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  override readonly message = "The lease was lost.";
}

/** Why an activity is given up: its worker hears nothing and leaves. */
export class WorkerLeaves extends Error {
  override readonly name = "WorkerLeaves";
  override readonly message = "The worker hears nothing and leaves.";
}

/** The reply is still of use, to whoever has the activity next. */
const mayFinish = (reason: unknown) => reason instanceof LeaseLost || reason instanceof WorkerLeaves;

export function finishRequests(client: ModelClient): ModelClient {
  return {
    endpoint: client.endpoint,
    async complete(request, options = {}) {
      const { signal, slot = noLimit } = options;
      if (signal === undefined) return await client.complete(request, options);
      const controller = new AbortController();
      let left = false;
      const giveUp = () => {
        if (!left || !mayFinish(signal.reason)) controller.abort(signal.reason);
      };
      const leaving = heardSlot(slot, {
        begun() {
          controller.signal.throwIfAborted();
          left = true;
        },
      });
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
      try {
        return await client.complete(request, { ...options, slot: leaving, signal: controller.signal });
      } finally {
        signal.removeEventListener("abort", giveUp);
      }
    },
  };
}
