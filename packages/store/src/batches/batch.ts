/** The types of a batch, its students and its submissions, for requests and answers. The rows are in schema/batches.ts. */
import type { Failure, Json, Limits } from "@markmill/engine";
import type {
  AiConsent,
  FinalGrade,
  Grade,
  GradeEvent,
  GradeEventKind,
  Outcome,
  PersonMark,
  Rubric,
} from "@markmill/grading";
import type { Definition } from "../definitions/definitions.ts";
import type { Budget } from "../money/budgets.ts";
import type { Spent } from "../money/charges.ts";
import type { Wait } from "../read/waits-of.ts";
import type { NewRun } from "../runs/create-run.ts";

export interface NewBatch {
  /** Identifies the batch within the tenant: saving under the same key again changes the same batch. */
  readonly key: string;
  readonly name: string;
  readonly definition: Definition;
  readonly rubric: Rubric;
  /** The effects of the changed rubric that a person has seen (stack/rubric-change.ts). A server requires it; the store itself does not. */
  readonly confirmedVoids?: string;
  readonly settings: BatchSettings;
  /** Maximum number of runs at once. Default: 16. */
  readonly concurrency?: number;
  /** For all runs together. Absent: unchanged, at first without a cap. */
  readonly budget?: Budget["cap"];
  readonly members: readonly NewMember[];
  /** Any part of the submissions. The others stay as they are, so a large class is saved in pieces. */
  readonly works: readonly NewWork[];
  /**
   * Known submissions that are missing from the full list no longer count. true: `works` is the full list. keys: the full list of keys,
   * sent with the last piece of the submissions.
   */
  readonly whole?: boolean | readonly string[];
  /** If `whole` is a list of keys: only keys in this span, so that a class of any size can list them in pieces. Absent: all submissions. */
  readonly span?: KeySpan;
}

/** Keys by their UTF-8 bytes. null: no limit on that side. */
export interface KeySpan {
  readonly after: string | null;
  readonly upTo: string | null;
}

export interface BatchSettings {
  /** The start values of each run. */
  readonly run: {
    readonly variables?: Readonly<Record<string, string>>;
    readonly environment?: Readonly<Record<string, string>>;
    /** For each student. */
    readonly caps?: Partial<Limits>;
    readonly patienceMs?: number;
    readonly notes?: NewRun["notes"];
    /** Options for the worker (stack's RunOptions). */
    readonly options?: { readonly [name: string]: Json };
  };
  /** The penalty for late submissions. null: none. */
  readonly late: { readonly percentPerDay: number; readonly mostPercent: number } | null;
  /** For students without a choice of their own. */
  readonly aiConsent: AiConsent;
  readonly language: string | null;
  /** Data for the client that saves the batch; the store does not read it. Examples: deadline, policy of attempts, source of the files. */
  readonly facts?: Json;
}

/** The data of a roster about one person. */
export interface BatchMember {
  readonly key: string;
  readonly name: string;
  readonly sortableName?: string;
  readonly id?: string;
  /** Moodle's number of the participant in one assignment. It does not identify the person. */
  readonly participant?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  readonly handle?: string;
  readonly section?: string;
  readonly group?: string;
  readonly language?: string;
  readonly aiConsent?: AiConsent;
  readonly submittedAt?: string;
}

export interface NewMember extends BatchMember {
  /** Stored key of the same person, as a user decided. null: the person is new. Absent: decided from the data of both rosters. */
  readonly was?: string | null;
}

/** A submission of one student or group. A `ClassSubmission` of packages/classroom is one. */
export interface NewWork {
  /** Never changes within the batch. */
  readonly key: string;
  /** Keys of students. */
  readonly by: readonly string[];
  readonly group: string | null;
  readonly attempt: number;
  /** false: it counts for no student and is not graded. */
  readonly counts: boolean;
  /** Students for whom it counts; for the others another submission counts. Absent: it counts for all of them, or for none. */
  readonly countsFor?: readonly string[];
  readonly label: string;
  readonly sources: readonly string[];
  readonly submittedAt: string | null;
  readonly lateness: WorkLateness;
  readonly content: WorkContent;
}

export type WorkLateness =
  | { readonly is: "unknown" }
  | { readonly is: "on time" }
  | { readonly is: "late"; readonly byMs: number | null };

export type WorkContent =
  /** `hash`: of a blob of the tenant. The blob exists before the batch is saved. */
  | {
      readonly is: "taken";
      readonly hash: string;
      readonly files: number;
      readonly bytes: number;
      readonly paths: readonly string[];
      readonly notes: readonly string[];
      /**
       * Its run starts with values of its own, and without a submission. Absent: it starts as the batch sets it, with the files of the
       * blob.
       */
      readonly start?: WorkStart;
      /** For a repository. */
      readonly commit?: WorkCommit;
    }
  | { readonly is: "refused"; readonly code: string; readonly message: string; readonly fix: string }
  | { readonly is: "empty" }
  /**
   * One of several submissions of a student whose order is unknown. `hash`: of the submitted content. It is graded only after a person
   * decides.
   */
  | { readonly is: "undecided"; readonly hash: string | null; readonly message: string; readonly fix: string }
  | {
      readonly is: "incomplete";
      readonly missing: readonly string[];
      readonly message: string;
      readonly paths: readonly string[];
      readonly commit?: WorkCommit;
    };

/** Hash of the submitted content, to which marks of people belong. null: there is no gradable content. */
export function contentHash(content: WorkContent): string | null {
  return content.is === "taken" || content.is === "undecided" ? content.hash : null;
}

export interface WorkCommit {
  readonly hash: string;
  /** ISO 8601. null: its date cannot be true. */
  readonly at: string | null;
  /** Reasons why its date may be wrong. */
  readonly doubts: readonly string[];
}

/** A row of a table of runs. It belongs to no person, so no names are removed from its requests to models. */
export interface WorkStart {
  /** Hash of a definition of the tenant. The definition exists before the batch is saved. */
  readonly definition: string;
  /** Override those of the batch. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface SavedBatch {
  readonly id: string;
  /** false: a batch with this key existed already. */
  readonly created: boolean;
  /** Number of new submissions. */
  readonly added: number;
  /** Number of submissions with changed content: each has a new attempt, or is no longer gradable. */
  readonly changed: number;
  /** Submissions that another definition graded, which stay as they are until they are regraded. */
  readonly otherDefinition: number;
  /** Submissions without a paid reply that start again with the current settings of the batch: model, script, parameters and workflow. */
  readonly restarted: number;
  /** Submissions under way that started with other settings and keep them, because they have paid replies. */
  readonly kept: number;
  /** Submissions that counted and are missing from the full list. Absent: only a part was saved. */
  readonly dropped?: number;
}

export type BatchState =
  | { readonly is: "open" }
  /** No new submission starts, and running ones continue. `by`: a person paused it, or the budget refused a call. */
  | { readonly is: "paused"; readonly by: "person" | "budget"; readonly reason: string }
  | { readonly is: "cancelled"; readonly reason: string };

export interface BatchSummary {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly definitionHash: string;
  readonly state: BatchState;
  readonly concurrency: number;
  readonly createdAt: Date;
  /**
   * When the last of its submissions ended, was withdrawn or refused, or when the batch was cancelled. null: a submission waits or runs, or
   * more may come. New submissions and new attempts open it again.
   */
  readonly endedAt: Date | null;
  readonly counts: WorkCounts;
}

/** Number of submissions per status; their sum is `works`. */
export interface WorkCounts {
  readonly works: number;
  readonly waiting: number;
  readonly running: number;
  /** Part of the running ones: they wait for an endpoint, or for a resume. */
  readonly parked: number;
  readonly succeeded: number;
  /** Their runs failed, were cancelled, or could not be created. */
  readonly failed: number;
  readonly ungradable: number;
  readonly notCounted: number;
  /** Their runs were deleted. */
  readonly deleted: number;
}

export interface BatchDetail extends BatchSummary {
  readonly rubric: Rubric;
  readonly rubricHash: string;
  readonly settings: BatchSettings;
  readonly members: number;
  readonly budget: Budget | null;
  /** More than four fifths of the budget is spent or reserved. */
  readonly budgetNearlySpent: boolean;
  /** The cost of all attempts of all submissions. */
  readonly spent: Spent;
  /** The durations of ended runs, the newest last, at most 200. They serve to estimate the remaining time. */
  readonly runMs: readonly number[];
  /** Why submissions are parked: each reason once, with its count, the most frequent first. */
  readonly troubles: readonly { readonly reason: string; readonly works: number; readonly held: boolean }[];
}

export interface BatchFilter {
  readonly key?: string;
  /** The end of an id, or its beginning (read/ids-with.ts). */
  readonly idPart?: string;
  /** ended: an open batch whose last submission has ended. */
  readonly state?: readonly (BatchState["is"] | "ended")[];
}

export interface BatchPage {
  readonly batches: readonly BatchSummary[];
  readonly next: string | null;
}

/** Derived from the run of the last attempt, never stored. */
export type WorkStanding =
  /** Another submission of the same student counts and is graded instead. */
  | { readonly is: "not counted" }
  | { readonly is: "ungradable"; readonly why: string }
  | { readonly is: "waiting" }
  /** `wait`: the reason why it is parked. */
  | { readonly is: "running"; readonly wait: Omit<Wait, "rootId"> | null }
  | { readonly is: "succeeded" }
  | { readonly is: "failed"; readonly status: "failed" | "cancelled"; readonly failure: Failure | null }
  /** The run could not be created. */
  | { readonly is: "refused"; readonly code: string; readonly message: string }
  | { readonly is: "deleted" };

export interface WorkTry {
  readonly try: number;
  readonly runId: string;
  readonly definitionHash: string;
  /** The graded content. */
  readonly content: string;
  readonly why: TryReason;
  readonly standing: Exclude<WorkStanding, { readonly is: "not counted" | "ungradable" }>;
  readonly grade: Grade | null;
  readonly spent: Spent;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

export type TryReason = "first" | "content" | "retry" | "regrade";

export interface BatchWork extends NewWork {
  /** Replaces its name in labels, logs and prompts. */
  readonly pseudonym: string;
  readonly standing: WorkStanding;
  /** The last attempt. null: none was needed. */
  readonly try: Pick<WorkTry, "try" | "runId" | "definitionHash" | "why" | "startedAt" | "endedAt"> | null;
  readonly tries: number;
  /** The latest grade for the present content, and the attempt that produced it. */
  readonly proposal: { readonly grade: Grade; readonly try: number } | null;
  /** Includes the decisions of people. null: there is no grade yet. */
  readonly grade: FinalGrade | null;
  readonly events: readonly GradeEvent[];
  /** The state of each mark that a person gave. */
  readonly marks: readonly PersonMark[];
  /** The tag of its current grade: `NewGradeEvent.seen`. */
  readonly etag: string;
  /** The cost of all attempts. */
  readonly spent: Spent;
}

export interface WorkFilter {
  readonly keys?: readonly string[];
  readonly standing?: readonly WorkStanding["is"][];
  /** Filters by the current grade. A page may then have fewer entries than requested, and still not be the last. */
  readonly outcome?: readonly Outcome["is"][];
  readonly released?: boolean;
  readonly counts?: boolean;
}

export interface WorkPage {
  readonly works: readonly BatchWork[];
  readonly next: string | null;
}

export interface MemberPage {
  readonly members: readonly (BatchMember & { readonly pseudonym: string })[];
  readonly next: string | null;
}

/** Submissions that got a new attempt. Existing grades are left out: a retry covers only those whose last attempt failed. */
export interface Retried {
  readonly works: readonly string[];
}

export interface RegradeRequest {
  readonly keys: readonly string[];
  /** Judge only this criterion again, for submissions with a grade by the batch's rubric. All other criteria keep their marks. */
  readonly criterion?: string;
  /** Absent: the batch's. */
  readonly definition?: Definition;
}

export interface NewGradeEvent {
  readonly work: string;
  readonly kind: GradeEventKind;
  readonly by: string;
  /** For an override. */
  readonly criterion?: string;
  /** For an override. null takes one mark back. */
  readonly points?: number | null;
  /** For an override without points: the id of the mark that it takes back. Default: the last mark of the same person. */
  readonly takesBack?: number;
  /** Required for an override and a withdrawal. */
  readonly reason?: string;
  /** For the student. */
  readonly comment?: string;
  /** For a release: keys of the students for whom it is. Default: all students for whom the submission counts. */
  readonly students?: readonly string[];
  /**
   * The attempt whose proposal the person saw, 0: none. The event is refused if another proposal is current by now. Absent: the event
   * applies to any proposal.
   */
  readonly try?: number;
  /**
   * Accepted `etag`s of the submission, as the person saw it. "any": the caller does not care. Refused if the submission has changed since
   * (STORE_GRADE_CHANGED). Replacing or taking back another person's mark requires it (STORE_GRADE_UNSEEN).
   */
  readonly seen?: readonly string[] | "any";
  /** The same key with the same request returns the event that the first one appended. Another request with the same key is refused. */
  readonly idempotencyKey?: string;
}
