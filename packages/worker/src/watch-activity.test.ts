import { builtInCatalogue, type ModelClient, ModelFailure, type ModelSlot, noLimit } from "@markmill/llm";
import type { Watched } from "@markmill/telemetry";
import { expect, it } from "vitest";
import { watchedClient } from "./watch-activity.ts";

const request = { model: "scripted", messages: [], settings: {} } as const;

/** The events of a request to a client that asks for its slot and then fails. */
async function told(slot: ModelSlot): Promise<readonly string[]> {
  const saw: string[] = [];
  const watched = {
    modelCall() {
      saw.push("request");
      return ({ did }: { did: string }) => void saw.push(did);
    },
  } as unknown as Watched;
  const client: ModelClient = {
    endpoint: "http://models.test",
    async complete(_, options) {
      await options?.slot?.begin();
      options?.slot?.over(false);
      throw new ModelFailure("MODEL_ABORTED", "");
    },
  };
  const telling = { ...slot, over: (answered: boolean) => void saw.push(`over ${answered}`) };
  await expect(watchedClient(client, builtInCatalogue, watched).complete(request, { slot: telling })).rejects.toThrow();
  return saw;
}

it("a request is watched from the moment it is sent, and a request without a slot is not watched", async () => {
  expect(await told(noLimit)).toEqual(["request", "over false", "fail"]);
  const never = async () => Promise.reject(new Error("drained"));
  expect(await told({ ...noLimit, begin: never })).toEqual([]);
});
