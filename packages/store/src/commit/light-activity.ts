/** Light activities: the ones that need nothing but their run. */
import {
  type ActivityRef,
  type Doorbell,
  type LightKind,
  lightWork,
  type WorkQueue,
  workKinds,
} from "@markmill/engine";
import type { Activity, LoadedRun } from "./run-row.ts";

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

/** Where they wait. */
export const lightQueue: WorkQueue = "control";

export function toActivity(run: LoadedRun, { id, ref, kind, at }: LightActivity): Activity {
  const work = lightWork(kind);
  const { epoch } = run.state;
  const none = { outcome: null, usage: null, leased: false };
  return { id, runId: run.id, ref, kind, epoch, claim: 0, rings: run.rings, work, ...none, askedAt: at };
}

export function toLightRing(run: LoadedRun, { id, ref, kind }: LightActivity, delayMs = 0): Doorbell {
  return {
    queue: workKinds[kind].queue,
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
