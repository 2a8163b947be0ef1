import type { ModelClient, ModelReply } from "@markmill/llm";
import { describe, expect, it } from "vitest";
import { finishRequests, LeaseLost, WorkerLeaves } from "./finish-requests.ts";

const reply: ModelReply = {
  text: "paid",
  finishReason: "stop",
  model: "m",
  usage: { promptTokens: 1, completionTokens: 1, nanodollars: 1, characters: 1, estimated: false },
};
const request = { model: "m", messages: [], settings: {} };

/** Replies when the test tells it to. Gives up when its signal is aborted. */
function slowModel() {
  const answer = Promise.withResolvers<ModelReply>();
  const asked = Promise.withResolvers<void>();
  let requests = 0;
  const client: ModelClient = {
    endpoint: "slow",
    async complete(_, { signal, slot } = {}) {
      await slot?.begin(signal);
      requests += 1;
      asked.resolve();
      const aborted = new Promise<never>((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason)),
      );
      return await Promise.race([answer.promise, aborted]);
    },
  };
  return { client: finishRequests(client), answer, asked: asked.promise, requests: () => requests };
}

describe("a model request of an abandoned activity", () => {
  it.each([LeaseLost, WorkerLeaves])("continues if it was sent and the reason is only %o", async (Reason) => {
    const { client, answer, asked } = slowModel();
    const controller = new AbortController();
    const coming = client.complete(request, { signal: controller.signal });
    await asked;
    controller.abort(new Reason());
    answer.resolve(reply);
    expect(await coming).toBe(reply);
  });

  it("is not sent after the lease is lost", async () => {
    const { client, requests } = slowModel();
    const controller = new AbortController();
    const free = Promise.withResolvers<void>();
    const slot = { begin: () => free.promise, arrived: () => undefined, over: () => undefined };
    const coming = client.complete(request, { signal: controller.signal, slot });
    controller.abort(new LeaseLost());
    free.resolve();
    await expect(coming).rejects.toThrow(LeaseLost);
    expect(requests()).toBe(0);
  });

  it("is aborted for any other reason, whether it was sent or not", async () => {
    const { client, asked } = slowModel();
    const controller = new AbortController();
    const coming = client.complete(request, { signal: controller.signal });
    await asked;
    controller.abort(new Error("The run continued without this activity."));
    await expect(coming).rejects.toThrow("The run continued");
    await expect(client.complete(request, { signal: controller.signal })).rejects.toThrow("The run continued");
  });
});
