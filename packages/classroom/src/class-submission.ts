/** A submission of a class as it came in: whose it is, when it was handed in, and what became of its content. */

import type { SubmissionErrorCode } from "@markmill/grading/submission";
import type { CommitFacts } from "./commit-facts.ts";

export interface ClassSubmission {
  /** Stable in the class: the keys of its people, and the attempt. */
  readonly key: string;
  /** Keys of the members whose work it is; more than one for group work. */
  readonly by: readonly string[];
  /** A label; the people are the owner. */
  readonly group: string | null;
  readonly attempt: number;
  /** Whether it counts for anybody by the class's policy; `best` leaves that to the grades, and all count. */
  readonly counts: boolean;
  /** Members for whom it counts. The others count another submission. */
  readonly countsFor: readonly string[];
  /** What the platform calls it: a user, participant or submission. */
  readonly label: string;
  readonly sources: readonly string[];
  readonly submittedAt: string | null;
  readonly lateness: Lateness;
  readonly content: Content;
}

export type Lateness =
  | { readonly is: "unknown" }
  | { readonly is: "on time" }
  /** byMs after deadline and grace; null: the platform says late, nobody says by how much. */
  | { readonly is: "late"; readonly byMs: number | null };

export type Content =
  | {
      readonly is: "taken";
      /** SHA-256 of the tar: the same content, the same hash. */
      readonly hash: string;
      readonly files: number;
      readonly bytes: number;
      readonly paths: readonly string[];
      readonly notes: readonly string[];
      /** Of a repository. */
      readonly commit?: CommitFacts;
    }
  /** The student's cause: ungradable, with a reason to tell them. */
  | { readonly is: "refused"; readonly code: SubmissionErrorCode; readonly message: string; readonly fix: string }
  | { readonly is: "empty" }
  /** The student has several submissions, and nothing says which one counts. `hash`: of this one, if it can be graded. */
  | { readonly is: "undecided"; readonly hash: string | null; readonly message: string; readonly fix: string }
  /** There is work, without the files the task asks for: ungradable until a person has looked. */
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
  /** Whom it could mean. */
  readonly near: readonly string[];
  /** Only of an ambiguous work: keys of the members who may have handed it in. */
  readonly may?: readonly string[];
}
