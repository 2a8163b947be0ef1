/** Runs and activities as the hot path holds them. */
import type { ActivityRef, Json, Outcome, Program, RunState, Usage, Work, WorkKind } from "@markmill/engine";

export type QueueName = "control" | "prompt" | "execute";

/** A run as it was at `rev`. Immutable: whatever is decided on it is committed only if the run is still at that `rev`. */
export interface LoadedRun {
  readonly id: string;
  readonly rootId: string;
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
  /** What the request asked of the edges (model, sandbox, script …), shared by the whole tree. */
  readonly options: Json;
  /** Asked and not answered; of a stopped run, what will be asked again. The oldest first. */
  readonly light: readonly LightActivity[];
  /** Of its light activities; see Doorbell. */
  readonly rings: number;
}

/**
 * An activity that needs nothing but its run. It stands on the run's row until it is done; then the event that ended it is its row. The
 * others have a row of their own, because they are claimed, leased, or wait.
 */
export interface LightActivity {
  /** From the same sequence as the ids of rows. */
  readonly id: number;
  readonly ref: ActivityRef;
  readonly kind: LightKind;
  /** When it was asked for. */
  readonly at: number;
}
export type LightKind = "check" | "set" | "assign";

/** null: it needs more than its run. */
export function lightKindOf(work: Work): LightKind | null {
  if (work.kind === "check") return work.read.length === 0 ? "check" : null;
  if (work.kind === "set") return work.read === null && work.write === null ? "set" : null;
  return work.kind === "assign" && work.read === null ? "assign" : null;
}

const lightWork: Readonly<Record<LightKind, Work>> = {
  check: { kind: "check", read: [] },
  set: { kind: "set", read: null, write: null },
  assign: { kind: "assign", read: null },
};

export function workOf(kind: LightKind): Work {
  return lightWork[kind];
}

export function toActivity(run: LoadedRun, { id, ref, kind }: LightActivity): Activity {
  const work = lightWork[kind];
  const { epoch } = run.state;
  const none = { outcome: null, usage: null, leased: false };
  return { id, runId: run.id, ref, kind, epoch, claim: 0, rings: run.rings, work, ...none };
}

export function toLightRing(run: LoadedRun, { id, ref }: LightActivity, delayMs = 0): Ring {
  return {
    queue: "control",
    runId: run.id,
    activityId: id,
    epoch: run.state.epoch,
    attempt: ref.attempt,
    rings: run.rings,
    delayMs,
    parentJob: run.parent?.job ?? null,
  };
}

/** A light activity as it stands on its run's row. */
export interface LightColumn {
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number | null;
  readonly attempt: number;
  readonly kind: LightKind;
  readonly at: number;
}

export function toLightColumn({ id, ref, kind, at }: LightActivity): LightColumn {
  const { node, generation, item, attempt } = ref;
  return { id, node, generation, item, attempt, kind, at };
}

export function toLight(column: readonly LightColumn[] | null): readonly LightActivity[] {
  return (column ?? []).map(({ id, node, generation, item, attempt, kind, at }) => ({
    ...{ id, kind, at },
    ref: { node, generation, item, attempt },
  }));
}

/** The CALL activity that waits for this run, as it was when it called; `job` is its queue job's id, opaque here. */
export interface ParentCall {
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
  readonly rings: number;
  readonly work: Work;
  /** Of a CALL whose callee has ended. */
  readonly outcome: Outcome | null;
  readonly usage: Usage | null;
  /** It was claimed, under a lease that has to be renewed. */
  readonly leased: boolean;
}

/** A doorbell to be rung: exactly what the queue needs to make a job of an activity. */
export interface Ring {
  readonly queue: QueueName;
  readonly runId: string;
  readonly activityId: number;
  readonly epoch: number;
  readonly attempt: number;
  readonly rings: number;
  /** 0: now. */
  readonly delayMs: number;
  readonly parentJob: string | null;
}

export function queueOf(kind: WorkKind): QueueName {
  return kind === "prompt" || kind === "execute" ? kind : "control";
}

/**
 * Work that reaches outside, or into the files of a session: claimed with a lease, so that nobody does it twice at a time or late. The
 * rest is pure or only waits; it is read, not claimed. A check, set or assign that has a row has one for its files.
 */
export function isLeased(work: Work): boolean {
  switch (work.kind) {
    case "note":
      return work.read !== null;
    case "call":
    case "ask":
      return false;
    default:
      return true;
  }
}

/** The same, of activities `a`. */
export const leasedSql = `(a.kind in ('prompt', 'execute', 'tool', 'memory', 'check', 'set', 'assign')
      or (a.kind = 'note' and a.work ->> 'read' is not null))`;

export const itemToColumn = (item: number | null): number => item ?? -1;
export const columnToItem = (item: number): number | null => (item < 0 ? null : item);
