/** Runs and activities as the write path holds them. */
import {
  type ActivityRef,
  initialState,
  type Json,
  type Outcome,
  type Program,
  type RunState,
  type Usage,
  type Work,
  type WorkKind,
} from "@markmill/engine";
import type { InlineActivity } from "./inline-activity.ts";

/** A run as it was at `rev`. Immutable: a decision on it is committed only if the run is still at that `rev`. */
export interface LoadedRun {
  readonly id: string;
  readonly rootId: string;
  /** The tenant of the whole tree. */
  readonly tenant: string;
  /** The number of folded events. */
  readonly rev: number;
  readonly state: RunState;
  readonly program: Program;
  /** The program's key in its definition. */
  readonly path: string;
  readonly definitionHash: string;
  readonly parent: ParentCall | null;
  /** Budgets that pay for this run: the one of the root run, and the one of a batch. */
  readonly budgets: readonly string[];
  /** Runs whose step pools count the steps of this run (step-pools.ts). */
  readonly pools: readonly string[];
  /** What the request set for models, sandbox, script and others, shared by the whole tree. */
  readonly options: Json;
  /** The open inline activities, the oldest first. For a stopped run: those that a resume requests again. */
  readonly inline: readonly InlineActivity[];
  /** The enqueue count of its inline activities; see JobSpec. */
  readonly enqueues: number;
}

/** A run whose first event is not folded yet. */
export function unstarted(run: Omit<LoadedRun, "rev" | "state" | "inline" | "enqueues">): LoadedRun {
  return { ...run, rev: 0, state: initialState, inline: [], enqueues: 1 };
}

/** The CALL activity that waits for this run, as it was when it called. `job` is its queue job's id, opaque here. */
interface ParentCall {
  readonly activityId: number;
  readonly attempt: number;
  readonly epoch: number;
  readonly job: string | null;
}

export interface Activity {
  readonly id: number;
  readonly runId: string;
  readonly ref: ActivityRef;
  readonly kind: WorkKind;
  readonly epoch: number;
  /** Fencing token: the result of an older claim is dropped. */
  readonly claim: number;
  readonly enqueues: number;
  readonly work: Work;
  /** For a CALL whose called run has ended. */
  readonly outcome: Outcome | null;
  readonly usage: Usage | null;
  /** It is claimed under a lease that the worker must renew. */
  readonly leased: boolean;
  /** The time of its first request, by the database's clock. */
  readonly askedAt: number;
  /** The activity was never claimed before, so it has no stored reply to look for. Absent: it may have one. */
  readonly unasked?: true;
}

export const itemToColumn = (item: number | null): number => item ?? -1;
export const columnToItem = (item: number): number | null => (item < 0 ? null : item);
