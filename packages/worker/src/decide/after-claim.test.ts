import { StoreError } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { afterClaim, afterFailedClaim, mustRenewFirst } from "./after-claim.ts";

describe("decision after a claim", () => {
  it("an activity that is held or not due yet is delivered again when it may be free", () => {
    expect(afterClaim({ kind: "held", forMs: 700 })).toEqual({
      do: "answer",
      jobs: null,
      answer: { do: "later", ms: 700 },
    });
    expect(afterClaim({ kind: "early", forMs: 40 })).toMatchObject({ answer: { do: "later", ms: 40 } });
  });

  it("the job of a finished activity is completed, and jobs that an earlier delivery may not have enqueued are enqueued", () => {
    const enqueue = {
      queue: "control",
      runId: "r",
      activityId: 2,
      epoch: 0,
      attempt: 1,
      enqueues: 1,
      delayMs: 0,
      parentJob: null,
    } as const;
    expect(afterClaim({ kind: "stale", jobs: [enqueue] })).toEqual({
      do: "answer",
      jobs: [enqueue],
      answer: { do: "done" },
    });
  });

  it("after a failed claim the job stays, for a newer worker or until the store answers again", () => {
    const newer = afterFailedClaim(new StoreError("STORE_STATE_NEWER", "form 9"));
    expect(newer).toEqual({ newer: true, answer: { do: "later", ms: 2_000 } });
    for (const error of [new StoreError("STORE_UNREACHABLE", "away"), new Error("odd"), "text"]) {
      expect(afterFailedClaim(error)).toEqual({ newer: false, answer: { do: "later", ms: 1_000 } });
    }
  });

  it("if half of the lease has passed when the answer arrives, the lease is renewed before the work begins", () => {
    expect(mustRenewFirst(1_499, 3_000)).toBe(false);
    expect(mustRenewFirst(1_501, 3_000)).toBe(true);
  });
});
