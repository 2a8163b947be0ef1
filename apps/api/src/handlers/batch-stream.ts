/**
 * Streams the progress of a batch. Each event contains the complete progress, so a client that reconnects misses nothing: the first event
 * shows the current state. The stream ends when the last submission has ended, even if the batch is paused or cancelled. It does not wait
 * for submissions of a cancelled batch that never started.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { presentBatchSummary } from "@markmill/stack";
import type { Caller, Frame, Some } from "../handler.ts";
import type { ApiParts } from "../parts.ts";
import { notFound } from "../refusal.ts";

/** The pause between two reads. A class that takes long to count is read less often. */
const lookMs = 1_000;
const restPerLook = 20;

export function batchStreamHandlers({ settings }: ApiParts): Some<"streamBatch"> {
  return {
    async streamBatch({ params: { id }, headers, caller, signal }) {
      const first = await caller.store.batches.summary(id);
      if (first === null) throw notFound("such batch");
      // A browser reconnects after every end of a stream. 204 tells it to stop.
      if (headers["last-event-id"] === "end" && isOver(presentBatchSummary(first))) return { frames: null };
      return { frames: frames(caller, id, settings.aliveMs, signal) };
    },
  };
}

function isOver({ state, endedAt, counts }: ReturnType<typeof presentBatchSummary>): boolean {
  return endedAt !== null || (state.is === "cancelled" && counts.works === 0);
}

async function* frames(
  { store, stillMay }: Caller,
  id: string,
  aliveMs: number,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  let told = "";
  let checked = performance.now();
  while (!signal.aborted) {
    const began = performance.now();
    const found = await store.batches.summary(id);
    // The batch was deleted meanwhile.
    if (found === null) return;
    const now = presentBatchSummary(found);
    const text = JSON.stringify(now);
    if (text !== told) {
      told = text;
      yield { data: now };
    }
    if (isOver(now)) {
      yield { event: "end", id: "end", data: now };
      return;
    }
    if (performance.now() - checked >= aliveMs) {
      if (!(await stillMay())) return;
      checked = performance.now();
      yield { data: null };
    }
    const rest = Math.max(lookMs, (performance.now() - began) * restPerLook);
    await sleep(Math.min(rest, aliveMs), undefined, { signal }).catch(() => undefined);
  }
}
