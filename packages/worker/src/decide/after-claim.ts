/** Decides what a worker does after a claim: perform the activity, or answer the queue without doing anything. */
import type { Answer } from "@markmill/queue";
import { StoreError } from "@markmill/store";
import type { Claim, Claimed } from "@markmill/store/machine";

type StaleJobs = Extract<Claim, { kind: "stale" }>["jobs"];

export type AfterClaim =
  | { readonly do: "perform"; readonly claimed: Claimed }
  /** `jobs`: what an earlier delivery may not have enqueued. null: there is nothing to enqueue. */
  | { readonly do: "answer"; readonly jobs: StaleJobs | null; readonly answer: Answer };

export function afterClaim(claim: Claim): AfterClaim {
  switch (claim.kind) {
    case "claimed":
      return { do: "perform", claimed: claim };
    case "held":
    case "early":
      return { do: "answer", jobs: null, answer: { do: "later", ms: claim.forMs } };
    case "stale":
      return { do: "answer", jobs: claim.jobs, answer: { do: "done" } };
  }
}

/** A run that belongs to a newer program is checked again after this time. By then one of the newer workers may have the job. */
const newerMs = 2_000;
const failedMs = 1_000;

/** An error never completes the job: it is delivered again until the store answers. */
export function afterFailedClaim(error: unknown): { readonly newer: boolean; readonly answer: Answer } {
  const newer = error instanceof StoreError && error.code === "STORE_STATE_NEWER";
  return { newer, answer: { do: "later", ms: newer ? newerMs : failedMs } };
}

/**
 * For a leased activity. The answer to its claim came late, or this event loop was busy. Another worker may have the activity by now, and
 * no work has begun yet.
 */
export function mustRenewFirst(tookMs: number, leaseMs: number): boolean {
  return tookMs > leaseMs / 2;
}
