/** A worker as it ships. The store it is given also tells the producer which runs have ended. */
import { builtInCatalogue, createModelClient } from "@markmill/llm";
import { openWorker } from "@markmill/worker";
import type { Store } from "../../support/store.ts";
import { createEndTeller } from "../tell-ended.ts";
import { attendProducer } from "./attend-producer.ts";
import { openParts, quietLog } from "./open-parts.ts";

attendProducer(async (start) => {
  const parts = await openParts(start, "worker");
  const worker = await openWorker({
    config: parts.config,
    store: tellingEnds(parts.store),
    databaseUrl: start.databaseUrl,
    queues: parts.queues,
    client: createModelClient({ catalogue: builtInCatalogue }),
    catalogue: builtInCatalogue,
    sandbox: null,
    log: quietLog("worker"),
    onStalled: () => console.error("worker: stalled"),
  });
  return async () => {
    await worker.drain();
    await parts.close();
  };
});

function tellingEnds(store: Store): Store {
  const tellEnded = createEndTeller<string>();
  return {
    ...store,
    async commit(item) {
      const committed = await store.commit(item);
      if (committed.kind === "committed" && committed.run.state.phase.is === "ended") tellEnded(committed.run.id);
      return committed;
    },
  };
}
