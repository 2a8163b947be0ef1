/**
 * A request that was sent costs money. Its activity may lose its lease meanwhile (Postgres was unreachable for too long). The request then
 * continues, and its reply is stored for the worker that has the activity now. It also continues in a stalled worker that gives up. A
 * request that was not sent yet is aborted. A cancel, a stop or a shutdown aborts both.
 */
import { heardSlot, type ModelClient, noLimit } from "@markmill/llm";

/** The activity is given up because another worker has it. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  override readonly message = "The lease was lost.";
}

/** The activity is given up because its worker is stalled and leaves. */
export class WorkerLeaves extends Error {
  override readonly name = "WorkerLeaves";
  override readonly message = "The worker hears nothing and leaves.";
}

/** The reply is still useful for the next worker that gets the activity. */
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
