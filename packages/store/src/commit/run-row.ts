/** Runs and activities as the hot path holds them. */
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

/** A run as it was at `rev`. Immutable: whatever is decided on it is committed only if the run is still at that `rev`. */
export interface LoadedRun {
  readonly id: string;
  readonly rootId: string;
  /** Whose it is, as all its tree. */
  readonly tenant: string;
  /** Events folded. */
  readonly rev: number;
  readonly state: RunState;
  readonly program: Program;
  /** The program's key in its definition. */
  readonly path: string;
  readonly definitionHash: string;
  readonly parent: ParentCall | null;
  /** Budgets that pay for this run: the root run's, and a batch's. */
  readonly budgets: readonly string[];
  /** Runs whose step pools its steps are counted in (step-pools.ts). */
  readonly pools: readonly string[];
  /** What the request asked of the edges (model, sandbox, script …), shared by the whole tree. */
  readonly options: Json;
  /** Asked and not answered; of a stopped run, what will be asked again. The oldest first. */
  readonly inline: readonly InlineActivity[];
  /** Of its inline activities; see JobSpec. */
  readonly enqueues: number;
}

/** A run whose first event is not folded yet. */
export function unstarted(run: Omit<LoadedRun, "rev" | "state" | "inline" | "enqueues">): LoadedRun {
  return { ...run, rev: 0, state: initialState, inline: [], enqueues: 1 };
}

/** The CALL activity that waits for this run, as it was when it called; `job` is its queue job's id, opaque here. */
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
  /** Fencing token: an older claim's result is dropped. */
  readonly claim: number;
  readonly enqueues: number;
  readonly work: Work;
  /** Of a CALL whose callee has ended. */
  readonly outcome: Outcome | null;
  readonly usage: Usage | null;
  /** It was claimed, under a lease that has to be renewed. */
  readonly leased: boolean;
  /** When it was asked for first, by the database's clock. */
  readonly askedAt: number;
  /** Nobody held it before, and no reply is stored for it: there is none to be looked for. Absent: there may be. */
  readonly unasked?: true;
}

export const itemToColumn = (item: number | null): number => item ?? -1;
export const columnToItem = (item: number): number | null => (item < 0 ? null : item);
