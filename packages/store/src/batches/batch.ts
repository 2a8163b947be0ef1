/** A batch, its members and its works as they are asked for and told. What of it is rows: schema/batches.ts. */
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
  /** Names it among the tenant's: saving under the same key again is going on with the same batch. */
  readonly key: string;
  readonly name: string;
  readonly definition: Definition;
  readonly rubric: Rubric;
  /** The effects of the changed rubric that a person has seen (stack/rubric-change.ts). A server asks for it; the store itself does not. */
  readonly confirmedVoids?: string;
  readonly settings: BatchSettings;
  /** Runs at once; 16. */
  readonly concurrency?: number;
  /** Of all runs together. Absent: it stays as it is, at first without a cap. */
  readonly budget?: Budget["cap"];
  readonly members: readonly NewMember[];
  /** Any part of them: what is left out stays as it is, so a large class is saved piece by piece. */
  readonly works: readonly NewWork[];
  /**
   * What is known and not among all works there are no longer counts. true: these are all there are; keys: those, of which these are
   * the last piece.
   */
  readonly whole?: boolean | readonly string[];
  /** Where `whole` is keys: those of this span, so that a class of any size says them piece by piece. Absent: of all works. */
  readonly span?: KeySpan;
}

/** Keys by their UTF-8 bytes; null: without an end on that side. */
export interface KeySpan {
  readonly after: string | null;
  readonly upTo: string | null;
}

export interface BatchSettings {
  /** How each run begins. */
  readonly run: {
    readonly variables?: Readonly<Record<string, string>>;
    readonly environment?: Readonly<Record<string, string>>;
    /** Of each student. */
    readonly caps?: Partial<Limits>;
    readonly patienceMs?: number;
    readonly notes?: NewRun["notes"];
    /** What is asked of the worker (stack's RunOptions). */
    readonly options?: { readonly [name: string]: Json };
  };
  /** What lateness costs; null: nothing. */
  readonly late: { readonly percentPerDay: number; readonly mostPercent: number } | null;
  /** Of members who said nothing of their own. */
  readonly aiConsent: AiConsent;
  readonly language: string | null;
  /** For whoever saves it; nobody here reads it: deadline, policy of attempts, where the files came from. */
  readonly facts?: Json;
}

/** What a roster says of a person. */
export interface BatchMember {
  readonly key: string;
  readonly name: string;
  readonly sortableName?: string;
  readonly id?: string;
  /** Moodle's number of the participant in one assignment, which is no id of the person. */
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
  /** Stored key of the same person, as somebody decided; null: the person is new. Absent: decided by what both rosters say. */
  readonly was?: string | null;
}

/** What one member or group handed in. A `ClassSubmission` of packages/classroom is one. */
export interface NewWork {
  /** Stable in the batch. */
  readonly key: string;
  /** Keys of members. */
  readonly by: readonly string[];
  readonly group: string | null;
  readonly attempt: number;
  /** false: it counts for nobody and is not graded. */
  readonly counts: boolean;
  /** Members for whom it counts; the others count another work. Absent: it counts for all of them, or for none. */
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
  /** `hash`: a blob of the tenant, which is there before the batch is saved. */
  | {
      readonly is: "taken";
      readonly hash: string;
      readonly files: number;
      readonly bytes: number;
      readonly paths: readonly string[];
      readonly notes: readonly string[];
      /** Its run begins with values of its own, and with nothing handed in; absent: as the batch says, on the files of the blob. */
      readonly start?: WorkStart;
      /** Of a repository. */
      readonly commit?: WorkCommit;
    }
  | { readonly is: "refused"; readonly code: string; readonly message: string; readonly fix: string }
  | { readonly is: "empty" }
  /** One of several works of a student that nothing orders. `hash`: of what was handed in. A person decides; it is not graded before. */
  | { readonly is: "undecided"; readonly hash: string | null; readonly message: string; readonly fix: string }
  | {
      readonly is: "incomplete";
      readonly missing: readonly string[];
      readonly message: string;
      readonly paths: readonly string[];
      readonly commit?: WorkCommit;
    };

/** Hash of what was handed in, to which marks of people belong; null: nothing that could be graded. */
export function contentHash(content: WorkContent): string | null {
  return content.is === "taken" || content.is === "undecided" ? content.hash : null;
}

export interface WorkCommit {
  readonly hash: string;
  /** ISO 8601; null: its date cannot be true. */
  readonly at: string | null;
  /** Why its date may be wrong. */
  readonly doubts: readonly string[];
}

/** A row of a table of runs. It belongs to no person: no names are taken out of what it asks models. */
export interface WorkStart {
  /** Hash of a definition of the tenant, which is there before the batch is saved. */
  readonly definition: string;
  /** Over those of the batch. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface SavedBatch {
  readonly id: string;
  /** false: there was one of this key. */
  readonly created: boolean;
  /** Works that were not known. */
  readonly added: number;
  /** Works whose content is another than before: each has a new try, or is no longer gradable. */
  readonly changed: number;
  /** Works graded by another definition than this one, which stay as they are until they are regraded. */
  readonly otherDefinition: number;
  /** Works without a paid reply that begin again as the batch says now: with its model, script, parameters and workflow. */
  readonly restarted: number;
  /** Works under way that were begun otherwise and stay so, because they have paid replies. */
  readonly kept: number;
  /** Works that counted and are not among all there are; absent: only a part was saved. */
  readonly dropped?: number;
}

export type BatchState =
  | { readonly is: "open" }
  /** Nothing new begins; what runs goes on. `by`: a person said so, or the budget refused a call. */
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
  /** When the last of its works ended, was withdrawn or refused, or when it was cancelled; null: one waits or runs, or works may still come. Works that are added or tried again open it again. */
  readonly endedAt: Date | null;
  readonly counts: WorkCounts;
}

/** Works by how they stand; their sum is `works`. */
export interface WorkCounts {
  readonly works: number;
  readonly waiting: number;
  readonly running: number;
  /** Of those that run: they wait for an endpoint, or to be resumed. */
  readonly parked: number;
  readonly succeeded: number;
  /** Their runs failed, were cancelled, or could not be made. */
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
  /** Of all tries of all works. */
  readonly spent: Spent;
  /** Of runs that ended, the newest last, at most 200: what is left to do is guessed from them. */
  readonly runMs: readonly number[];
  /** Why works are parked: each reason once, with how many, the most frequent first. */
  readonly troubles: readonly { readonly reason: string; readonly works: number; readonly held: boolean }[];
}

export interface BatchFilter {
  readonly key?: string;
  /** The end of an id, or its beginning (read/ids-with.ts). */
  readonly idPart?: string;
  /** ended: an open batch whose last work has ended. */
  readonly state?: readonly (BatchState["is"] | "ended")[];
}

export interface BatchPage {
  readonly batches: readonly BatchSummary[];
  readonly next: string | null;
}

/** Derived from the last try's run, never stored. */
export type WorkStanding =
  /** Another attempt is graded instead. */
  | { readonly is: "not counted" }
  | { readonly is: "ungradable"; readonly why: string }
  | { readonly is: "waiting" }
  /** `wait`: what it is parked for. */
  | { readonly is: "running"; readonly wait: Omit<Wait, "rootId"> | null }
  | { readonly is: "succeeded" }
  | { readonly is: "failed"; readonly status: "failed" | "cancelled"; readonly failure: Failure | null }
  /** The run could not be made. */
  | { readonly is: "refused"; readonly code: string; readonly message: string }
  | { readonly is: "deleted" };

export interface WorkTry {
  readonly try: number;
  readonly runId: string;
  readonly definitionHash: string;
  /** What was graded. */
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
  /** Stands for it in labels, logs and prompts. */
  readonly pseudonym: string;
  readonly standing: WorkStanding;
  /** The last one; null: none was needed. */
  readonly try: Pick<WorkTry, "try" | "runId" | "definitionHash" | "why" | "startedAt" | "endedAt"> | null;
  readonly tries: number;
  /** The last that was made of the present content, and by which try. */
  readonly proposal: { readonly grade: Grade; readonly try: number } | null;
  /** With what people said; null: nothing is known yet. */
  readonly grade: FinalGrade | null;
  readonly events: readonly GradeEvent[];
  /** What became of each mark of a person. */
  readonly marks: readonly PersonMark[];
  /** Of its grade as it stands: `NewGradeEvent.seen`. */
  readonly etag: string;
  /** By all tries. */
  readonly spent: Spent;
}

export interface WorkFilter {
  readonly keys?: readonly string[];
  readonly standing?: readonly WorkStanding["is"][];
  /** By their grade as it stands. A page may then hold fewer than were asked for, and still not be the last. */
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

/** Works that got a new try. What stands is left out: a retry takes only those whose last try failed. */
export interface Retried {
  readonly works: readonly string[];
}

export interface RegradeRequest {
  readonly keys: readonly string[];
  /** Only this one is judged anew, where a grade by the batch's rubric stands; all others keep their marks. */
  readonly criterion?: string;
  /** Absent: the batch's. */
  readonly definition?: Definition;
}

export interface NewGradeEvent {
  readonly work: string;
  readonly kind: GradeEventKind;
  readonly by: string;
  /** Of an override. */
  readonly criterion?: string;
  /** Of an override; null takes one mark back. */
  readonly points?: number | null;
  /** Of an override without points: the id of the mark that it takes back. Default: the last mark of the same person. */
  readonly takesBack?: number;
  /** An override and a withdrawal need one. */
  readonly reason?: string;
  /** For the student. */
  readonly comment?: string;
  /** Of a release: keys of the students for whom it is. Default: everybody for whom the work counts. */
  readonly students?: readonly string[];
  /** Whose proposal was seen, 0: none. Refused if it is no longer the one that stands; absent: it is said of whatever stands. */
  readonly try?: number;
  /**
   * `etag` of the work as it was seen, any of these; "any": the caller does not care. Refused if the work has changed since
   * (STORE_GRADE_CHANGED). A mark of somebody else is replaced or taken back only with it (STORE_GRADE_UNSEEN).
   */
  readonly seen?: readonly string[] | "any";
  /** The same key with the same request gives the event that the first one appended; with another request it is refused. */
  readonly idempotencyKey?: string;
}
