/** The queue as the API uses it: jobs are enqueued without waiting. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Queues } from "@markmill/queue";
import type { Enqueuer } from "./parts.ts";

const countsMs = 2_000;
/**
 * At most this many jobs are being enqueued at once. The supervisor enqueues the others, so that a queue that hangs does not fill the
 * memory.
 */
const mostOnTheirWay = 20_000;

export function enqueuerOf(queues: Pick<Queues, "enqueue" | "counts" | "probe">): Enqueuer {
  let onTheirWay = 0;
  return {
    enqueue(jobs) {
      if (jobs.length === 0 || onTheirWay > mostOnTheirWay) return;
      onTheirWay += jobs.length;
      const done = () => {
        onTheirWay -= jobs.length;
      };
      queues.enqueue(jobs).then(done, done);
    },
    async counts() {
      const over = new AbortController();
      const late = sleep(countsMs, null, { signal: over.signal }).catch(() => null);
      const asked = queues.counts().catch(() => null);
      return await Promise.race([asked, late]).finally(() => over.abort());
    },
    probe: queues.probe,
  };
}
