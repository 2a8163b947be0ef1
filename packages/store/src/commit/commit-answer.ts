/** The answer of the commit statement (C3). */
import type { WorkKind } from "@markmill/engine";

/** moved: a run of C1, or a run that was created. next: a requested activity. again: a further attempt. returned: a caller to enqueue. */
export type CommitAnswer = MovedAnswer | NextAnswer | ReturnedAnswer;

interface MovedAnswer {
  readonly what: "moved";
  readonly run_id: string;
  readonly now: number;
}

export interface NextAnswer {
  readonly what: "next" | "again";
  readonly run_id: string;
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly kind: WorkKind;
  readonly attempt: number;
  readonly enqueues: number;
  readonly claim: number;
  readonly epoch: number;
  /** By the database's clock. Not set for `again`. */
  readonly asked_at: number;
}

export interface ReturnedAnswer {
  readonly what: "returned";
  readonly run_id: string;
  readonly id: number;
  readonly attempt: number;
  readonly enqueues: number;
  readonly epoch: number;
  readonly parent_job: string | null;
}
