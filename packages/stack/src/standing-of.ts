import type { RunSummary, Wait } from "@markmill/store";

/** The state of a run for people. A run that is queued, or waits for an endpoint or for a resume, is not shown as running. */
export function standingOf({ status, queued }: Pick<RunSummary, "status" | "queued">, waits: readonly Wait[]): string {
  if (queued) return "queued";
  if (status !== "doing" || waits.length === 0) return status;
  return waits.some(({ parked }) => parked.held) ? "interrupted" : "waiting";
}
