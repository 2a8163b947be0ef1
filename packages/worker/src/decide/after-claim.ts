/** What a worker does once it has asked for an activity: perform it, or answer the queue without doing anything. */
import type { Answer } from "@markmill/queue";
import { StoreError } from "@markmill/store";
import type { Claim, Claimed } from "@markmill/store/machine";

type StaleJobs = Extract<Claim, { kind: "stale" }>["jobs"];

export type AfterClaim =
  | { readonly do: "perform"; readonly claimed: Claimed }
  /** `jobs`: what an earlier delivery may not have enqueued; null: nothing is to be enqueued. */
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

/** A run that a newer program works on is looked at again after so long: by then one of its workers may have the job. */
const newerMs = 2_000;
const failedMs = 1_000;

/** The job is never let go for an error: it comes back until the store answers. */
export function afterFailedClaim(error: unknown): { readonly newer: boolean; readonly answer: Answer } {
  const newer = error instanceof StoreError && error.code === "STORE_STATE_NEWER";
  return { newer, answer: { do: "later", ms: newer ? newerMs : failedMs } };
}

/** Of a leased activity: the answer to its claim came late, or this loop was busy: somebody else may have it, and nothing has begun yet. */
export function mustRenewFirst(tookMs: number, leaseMs: number): boolean {
  return tookMs > leaseMs / 2;
}
