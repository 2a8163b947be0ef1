/**
 * Follows a batch until the caller stops iterating. Each pass reads the state from Postgres or the server; only what was already reported
 * is remembered.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BatchDetail, BatchWork, TenantBatches } from "@markmill/store";
import { everyWork } from "./every-page.ts";

export interface BatchLook {
  readonly batch: BatchDetail;
  /** Submissions that ended since the last pass. */
  readonly ended: readonly BatchWork[];
}

const lookMs = 500;
/** Reading submissions takes at most a tenth of the time between two passes. So a class of a thousand is not read twice a second. */
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
