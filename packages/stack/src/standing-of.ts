import type { Wait } from "@markmill/store";

/** How a run stands for people: one that waits for an endpoint, or for somebody who resumes it, is not at work. */
export function standingOf(status: string, waits: readonly Wait[]): string {
  if (status !== "doing" || waits.length === 0) return status;
  return waits.some(({ parked }) => parked.held) ? "interrupted" : "waiting";
}
