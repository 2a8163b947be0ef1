/** A class for `--json`, with the names of the API (contract/src/batch-schemas.ts). */
import { presentBatchSummary } from "@markmill/stack";
import type { BatchDetail } from "@markmill/store";

export function batchAsJson(batch: BatchDetail) {
  const { characters: _, ...spent } = batch.spent;
  const { budget, troubles } = batch;
  return {
    ...presentBatchSummary(batch),
    spent,
    troubles,
    budget: budget === null ? null : { cap: budget.cap, spent: budget.spent, reserved: budget.reserved },
  };
}
