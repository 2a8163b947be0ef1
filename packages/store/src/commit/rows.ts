/** The rows of a commit. Each group of events is one `CommitRows`, and commit-statement.ts turns it into one statement. */
import type { InlineKind, Parked, WorkKind, WorkQueue } from "@markmill/engine";
import type { AuditAsked } from "../access/audit.ts";
import type { columns } from "../schema/columns.ts";
import type { RunRow } from "../schema/row-types.ts";
import type { InlineColumn } from "./inline-activity.ts";

/** The columns that every event writes of its run and of itself. Here and below, an absent field means null, false or 0. */
interface RunWrite {
  readonly id: string;
  readonly epoch: number;
  readonly status: string;
  readonly phase: string;
  readonly steps: number;
  readonly ended?: boolean;
  readonly type: string;
  readonly at: number;
}

/** Epoch, status and phase: absent if they do not change. */
type StatusChange = Pick<RunWrite, "epoch" | "status" | "phase">;

export interface MoveRow extends Omit<RunWrite, keyof StatusChange>, Partial<StatusChange> {
  readonly rev: number;
  readonly from_epoch: number;
  readonly activity?: number;
  readonly claim?: number;
  /** The activity is over. Not set if the same event asks for its next attempt. */
  readonly settles?: boolean;
  readonly aborts?: boolean;
  /** The inline activity that the event ended. */
  readonly inline_id?: number;
  readonly inline_kind?: InlineKind;
  readonly asked_at?: number;
}

/** Columns of a run that few events change. */
export interface RareWrite {
  /** infinity: no deadline while the run only waits. */
  readonly deadline?: number | "infinity";
  readonly word?: string | null;
  readonly result?: string | null;
  readonly reason?: unknown;
}

type RunColumn = (typeof columns.runs)[keyof typeof columns.runs]["name"];

/** Columns of a run that the request to create it sets. */
const requestedColumns = [
  "id",
  "root_id",
  "tenant",
  "parent_activity_id",
  "parent_attempt",
  "parent_epoch",
  "parent_job",
  "definition_hash",
  "program",
  "name",
  "depth",
  "labels",
  "budgets",
  "options",
  "submission",
  "forked_from",
  "pools",
] as const satisfies readonly RunColumn[];

/** The columns from the request, and those that the run's first event sets. All have the form in which they are stored. */
export const givenColumns = [
  ...requestedColumns,
  "epoch",
  "status",
  "phase",
  "steps",
  "word",
  "result",
  "reason",
  "inline",
] as const satisfies readonly RunColumn[];

/** A run to create: its columns, the idempotency key of the request, and its entry in the audit log. */
export interface Creation extends Pick<RunRow, (typeof requestedColumns)[number]> {
  readonly idempotency_key: string | null;
  readonly request_hash: string | null;
  /** null: no person asked for the run, or other code writes the audit entry. */
  readonly audit: AuditAsked | null;
  /** The run waits for a slot of its tenant: none of its activities is enqueued (shares/admit-runs.ts). */
  readonly queued: boolean;
}

interface CreationRow extends Creation, Omit<RunWrite, "id">, RareWrite {
  readonly inline?: readonly InlineColumn[];
  /** The next state of the calling activity: waiting, or ready at once if the called run ended as it started. */
  readonly caller_state: "waiting" | "ready" | null;
  readonly caller_outcome: unknown;
  readonly caller_usage: unknown;
}

interface NextRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly attempt: number;
  readonly kind: WorkKind;
  readonly queue: WorkQueue;
  readonly epoch: number;
  readonly state: "ready" | "waiting" | "claimed";
  readonly not_before: number | null;
  readonly work: unknown;
  /** The run is queued. */
  readonly queued?: true;
  /** The worker that claims it ahead (claim-ahead.ts). */
  readonly claimed_by?: string;
  readonly lease_ms?: number;
}

/** A further attempt of the work that its activity already has. */
interface RetryRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly attempt: number;
  readonly not_before: number | null;
  /** The reason for waiting, for people. If it is held, it waits for a resume, and no job is enqueued. */
  readonly trouble?: Parked;
  /** It waits for runs that its model called, and no job is enqueued. */
  readonly awaits?: true;
}

/** An activity that is no longer wanted while the rest of its run continues. */
interface VoidRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
}

/** For people only. */
interface WarningRow {
  readonly n: number;
  readonly seq: number;
  readonly part: number;
  readonly at: number;
  readonly body: unknown;
}

interface VariableRow {
  readonly n: number;
  readonly name: string;
  readonly value: string | null;
  /** The run has ended. */
  readonly final?: true;
}

interface MessageRow {
  readonly n: number;
  readonly seq: number;
  readonly position: number;
  readonly thread: string;
  readonly agent: string;
  readonly role: string;
  /** null: the text is the one of the activity's own work. */
  readonly text: string | null;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
}

/** The end of a called run, for its caller. */
interface ReturnRow {
  readonly n: number;
  readonly activity_id: number;
  readonly attempt: number;
  readonly epoch: number;
  readonly outcome: unknown;
  readonly usage: unknown;
}

export interface AskRow {
  readonly n: number;
  readonly activity_id: number;
  readonly state: "answered" | "expired";
  readonly answer: string | null;
  readonly answered_by: string | null;
}

export interface CommitRows {
  readonly moves: MoveRow[];
  /** One JSON text per row of `moves`. Empty: none. */
  readonly states: string[];
  readonly bodies: string[];
  readonly inlines: string[];
  readonly rares: string[];
  readonly creations: CreationRow[];
  /** One JSON text per row of `creations`. */
  readonly createdStates: string[];
  readonly createdBodies: string[];
  readonly next: NextRow[];
  readonly retries: RetryRow[];
  readonly voids: VoidRow[];
  readonly warnings: WarningRow[];
  readonly variables: VariableRow[];
  readonly messages: MessageRow[];
  readonly returns: ReturnRow[];
  readonly closedAsks: AskRow[];
}

export function noRows(): CommitRows {
  return {
    moves: [],
    states: [],
    bodies: [],
    inlines: [],
    rares: [],
    creations: [],
    createdStates: [],
    createdBodies: [],
    next: [],
    retries: [],
    voids: [],
    warnings: [],
    variables: [],
    messages: [],
    returns: [],
    closedAsks: [],
  };
}
