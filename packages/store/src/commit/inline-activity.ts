/** Inline activities: activities that need only their run. */
import {
  type ActivityRef,
  type InlineKind,
  inlineWork,
  type JobSpec,
  type WorkQueue,
  workKinds,
} from "@markmill/engine";
import type { Activity, LoadedRun } from "./run-row.ts";

/**
 * An activity that needs only its run. It is stored on the run's row until it is done. Then the event that ended it is its record. All
 * other activities have a row of their own, because they are claimed, leased, or wait.
 */
export interface InlineActivity {
  /** Taken from a sequence of its own, far above the ids of rows. */
  readonly id: number;
  readonly ref: ActivityRef;
  readonly kind: InlineKind;
  /** The time of its request. */
  readonly at: number;
}

/** The queue of all inline activities. */
export const inlineQueue: WorkQueue = "control";

export function toActivity(run: LoadedRun, { id, ref, kind, at }: InlineActivity): Activity {
  const work = inlineWork(kind);
  const { epoch } = run.state;
  const none = { outcome: null, usage: null, leased: false };
  return { id, runId: run.id, ref, kind, epoch, claim: 0, enqueues: run.enqueues, work, ...none, askedAt: at };
}

export function toInlineJob(run: LoadedRun, { id, ref, kind }: InlineActivity, delayMs = 0): JobSpec {
  return {
    queue: workKinds[kind].queue,
    runId: run.id,
    activityId: id,
    epoch: run.state.epoch,
    attempt: ref.attempt,
    enqueues: run.enqueues,
    delayMs,
    parentJob: run.parent?.job ?? null,
  };
}

/** An inline activity as the run's row stores it. */
export interface InlineColumn {
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number | null;
  readonly attempt: number;
  readonly kind: InlineKind;
  readonly at: number;
}

export function toInlineColumn({ id, ref, kind, at }: InlineActivity): InlineColumn {
  const { node, generation, item, attempt } = ref;
  return { id, node, generation, item, attempt, kind, at };
}

export function toInline(column: readonly InlineColumn[] | null): readonly InlineActivity[] {
  return (column ?? []).map(({ id, node, generation, item, attempt, kind, at }) => ({
    id,
    kind,
    at,
    ref: { node, generation, item, attempt },
  }));
}
