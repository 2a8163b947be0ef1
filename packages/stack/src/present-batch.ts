/** Shows a batch in the form of the contract. A batch whose last submission has ended is `ended`, unless it was paused or cancelled. */
import type { Got, Routes } from "@markmill/contract";
import type { BatchSummary } from "@markmill/store";

export function presentBatchSummary(batch: BatchSummary): Got<Routes["listBatches"]>["items"][number] {
  const { id, key, name, definitionHash: definition, state, concurrency, createdAt, endedAt, counts } = batch;
  return {
    id,
    key,
    name,
    definition,
    concurrency,
    counts,
    state: state.is === "open" && endedAt !== null ? { is: "ended" } : state,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}
