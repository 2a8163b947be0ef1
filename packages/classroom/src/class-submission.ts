/** One submission as it was read: its owners, its time, and the state of its content. */

import type { SubmissionErrorCode } from "@markmill/grading/submission";
import type { CommitFacts } from "./commit-facts.ts";

export interface ClassSubmission {
  /** Stable in the class: the keys of its students, and the attempt. */
  readonly key: string;
  /** Keys of the authors; several for a group submission. */
  readonly by: readonly string[];
  /** Only a label. The students are the owner. */
  readonly group: string | null;
  readonly attempt: number;
  /** Whether it counts for any student under the class's policy. With the policy `best`, all submissions count, and the grades decide. */
  readonly counts: boolean;
  /** Students for whom it counts. For the other authors another submission counts. */
  readonly countsFor: readonly string[];
  /** The platform's name for it: a user, participant or submission. */
  readonly label: string;
  readonly sources: readonly string[];
  readonly submittedAt: string | null;
  readonly lateness: Lateness;
  readonly content: Content;
}

export type Lateness =
  | { readonly is: "unknown" }
  | { readonly is: "on time" }
  /** `byMs` counts from the deadline and the grace period. null: the platform reports "late" without a duration. */
  | { readonly is: "late"; readonly byMs: number | null };

export type Content =
  | {
      readonly is: "taken";
      /** SHA-256 of the tar: the same content has the same hash. */
      readonly hash: string;
      readonly files: number;
      readonly bytes: number;
      readonly paths: readonly string[];
      readonly notes: readonly string[];
      /** Set only for a submission from a repository. */
      readonly commit?: CommitFacts;
    }
  /** Caused by the student: ungradable, with a reason for the student. */
  | { readonly is: "refused"; readonly code: SubmissionErrorCode; readonly message: string; readonly fix: string }
  | { readonly is: "empty" }
  /**
   * The student has several submissions, and it is unclear which one counts. `hash` is the hash of this one, or null if it cannot be
   * graded.
   */
  | { readonly is: "undecided"; readonly hash: string | null; readonly message: string; readonly fix: string }
  /** Files required by the task are missing. Ungradable until a person has checked it. */
  | {
      readonly is: "incomplete";
      readonly missing: readonly string[];
      readonly message: string;
      readonly paths: readonly string[];
      readonly commit?: CommitFacts;
    };

export interface Unfetched {
  readonly key: string;
  readonly by: readonly string[];
  readonly message: string;
}

export interface Unmatched {
  readonly name: string;
  readonly why: "no rule" | "unknown" | "ambiguous" | "link";
  /** The students it could belong to. */
  readonly near: readonly string[];
  /** Only for an ambiguous submission: keys of its possible authors. */
  readonly may?: readonly string[];
}
