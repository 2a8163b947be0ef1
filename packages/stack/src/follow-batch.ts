/** Follows a batch until nobody asks for the next look. Postgres or the server is asked, nothing is remembered but what was told. */
import { setTimeout as sleep } from "node:timers/promises";
import type { BatchDetail, BatchWork, TenantBatches } from "@markmill/store";
import { everyWork } from "./every-page.ts";

export interface BatchLook {
  readonly batch: BatchDetail;
  /** Works that have come to an end since the look before. */
  readonly ended: readonly BatchWork[];
}

const lookMs = 500;
/** Of the time between looks, works are read in a tenth at most: a class of a thousand is not asked for twice a second. */
const share = 10;

export async function* followBatch(
  batches: Pick<TenantBatches, "get" | "works">,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<BatchLook> {
  const told = new Map<string, number>();
  let known = -1;
  let notBefore = 0;
  for (;;) {
    const batch = await batches.get(id);
    if (batch === null) return;
    const { succeeded, failed, running, waiting } = batch.counts;
    const now = performance.now();
    let ended: BatchWork[] = [];
    const over = running + waiting === 0;
    if (succeeded + failed !== known && (over || now >= notBefore)) {
      known = succeeded + failed;
      const works = await everyWork(batches, id, { standing: ["succeeded", "failed", "refused"] });
      ended = works.filter((work) => told.get(work.key) !== work.tries);
      for (const { key, tries } of ended) told.set(key, tries);
      notBefore = performance.now() + share * (performance.now() - now);
    }
    yield { batch, ended };
    if (signal.aborted) return;
    await sleep(lookMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
  }
}
