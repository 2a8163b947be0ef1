/** A supervisor as it ships, for the idle measurement. */
import { startSupervisor } from "@markmill/worker/supervisor";
import { attendProducer } from "./attend-producer.ts";
import { openParts, quietLog } from "./open-parts.ts";

attendProducer(async (start) => {
  const { config, store, queues, close } = await openParts(start, "supervisor");
  const { retentionDays } = config;
  const supervisor = startSupervisor({ store, queues, log: quietLog("supervisor"), retentionDays });
  return async () => {
    await supervisor.stop();
    await close();
  };
});
