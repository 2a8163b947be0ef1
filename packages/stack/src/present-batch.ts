/** What the store says of a batch, as the contract has it: for the API and for `--json` of the commands. */
import type { Got, Routes } from "@markmill/contract";
import type { BatchSummary } from "@markmill/store";

export function presentBatchSummary(batch: BatchSummary): Got<Routes["listBatches"]>["items"][number] {
  const { id, key, name, definitionHash: definition, state, concurrency, createdAt, counts } = batch;
  return { id, key, name, definition, state, concurrency, createdAt: createdAt.toISOString(), counts };
}
