import type { RunSummary, Wait } from "@markmill/store";

/** How a run stands for people: one that is queued, or waits for an endpoint, or for somebody who resumes it, is not at work. */
export function standingOf({ status, queued }: Pick<RunSummary, "status" | "queued">, waits: readonly Wait[]): string {
  if (queued) return "queued";
  if (status !== "doing" || waits.length === 0) return status;
  return waits.some(({ parked }) => parked.held) ? "interrupted" : "waiting";
}
